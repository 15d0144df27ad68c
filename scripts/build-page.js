import { appendFile, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { requireNode } from '../bin/require-node.js';

// Builds the web UI and the API reference into web/dist, compresses them, and checks the size budget of the web UI.

requireNode();

/** Maximum bytes, after gzip, that the browser loads before it shows the page. */
const BUDGET = { script: 60_000, styles: 12_000 };

const WEB = fileURLToPath(new URL('../web/', import.meta.url));

const compressGzip = promisify(gzip);
const compressBrotli = promisify(brotliCompress);

// After requireNode: old Node.js versions can't load TypeScript.
const { API_REFERENCE, BUILT_PAGE, readWebPage } = await import('../src/http/page/web-page.ts');
const { describeApiReferenceLicense, readApiReference } = await import('./api-reference.js');

// Built in a temporary folder, which then replaces web/dist: a service may be running from the previous build.
const temporary = await mkdtemp(join(WEB, '.build-'));
try {
  // In a folder of its own: only the owner can read the temporary one, and the service may run as another user.
  const building = join(temporary, 'dist');
  await buildInto(building);
  const page = await readWebPage(building);
  const sizes = await compressFolder(page.assets);
  await writeFile(join(building, API_REFERENCE), await readApiReference());
  await appendFile(join(building, 'licenses.md'), await describeApiReferenceLicense());
  await rm(BUILT_PAGE, { recursive: true, force: true });
  await rename(building, BUILT_PAGE);
  process.exitCode = isWithinBudget(page, sizes) ? 0 : 1;
} finally {
  await rm(temporary, { recursive: true, force: true });
}

/** @param {string} folder */
async function buildInto(folder) {
  const { build } = await import('vite').catch((/** @type {unknown} */ error) => {
    throw new Error('Vite is missing. Run "npm ci".', { cause: error });
  });
  await build({ configFile: join(WEB, 'vite.config.ts'), logLevel: 'warn', build: { outDir: folder } });
}

/**
 * Writes `.gz` and `.br` next to each file that they make smaller. Returns the sizes after gzip by name.
 *
 * @param {string} folder
 */
async function compressFolder(folder) {
  /** @type {Map<string, number>} */
  const sizes = new Map();
  for (const name of await readdir(folder)) {
    const bytes = await readFile(join(folder, name));
    const gzipped = await compressGzip(bytes, { level: constants.Z_BEST_COMPRESSION });
    const brotli = await compressBrotli(bytes);
    sizes.set(name, gzipped.length);
    if (gzipped.length < bytes.length) await writeFile(join(folder, `${name}.gz`), gzipped);
    if (brotli.length < bytes.length) await writeFile(join(folder, `${name}.br`), brotli);
  }
  return sizes;
}

/**
 * Prints the bytes that the browser loads before it shows the page. Returns whether they are within the budget.
 *
 * @param {import('../src/http/page/web-page.ts').WebPage} page
 * @param {ReadonlyMap<string, number>} sizes after gzip, by name
 */
function isWithinBudget({ script, imports, early, styles }, sizes) {
  const loaded = { script: [script, ...imports, ...(early === undefined ? [] : [early])], styles };
  let isWithinAll = true;
  for (const kind of /** @type {const} */ (['script', 'styles'])) {
    let bytes = 0;
    for (const name of loaded[kind]) bytes += sizes.get(name) ?? 0;
    const isWithin = bytes <= BUDGET[kind];
    isWithinAll &&= isWithin;
    process.stdout.write(`${kind}: ${bytes} of ${BUDGET[kind]} bytes${isWithin ? '' : ', over the budget'}\n`);
  }
  return isWithinAll;
}
