import { appendFile, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { requireNode } from '../bin/require-node.js';
import { measurePage } from './page-budget.js';

// Builds the web UI and the API reference into web/dist, compresses them, and checks the size budgets of the web UI.

requireNode();

const WEB = fileURLToPath(new URL('../web/', import.meta.url));

const compressGzip = promisify(gzip);
const compressBrotli = promisify(brotliCompress);

// After requireNode: old Node.js versions can't load TypeScript.
const { API_REFERENCE, BUILT_PAGE, readWebPage, SERVICE_WORKER } = await import('../src/http/page/web-page.ts');
const { describeApiReferenceLicense, readApiReference } = await import('./api-reference.js');

// Built in a temporary folder, which then replaces web/dist: a service may be running from the previous build.
const temporary = await mkdtemp(join(WEB, '.build-'));
try {
  // In a folder of its own: only the owner can read the temporary one, and the service may run as another user.
  const building = join(temporary, 'dist');
  await buildInto(building);
  await buildServiceWorker(building);
  const page = await readWebPage(building);
  const parts = await measurePage(building, await compressFolder(page.assets), page);
  await writeFile(join(building, API_REFERENCE), await readApiReference());
  await appendFile(join(building, 'licenses.md'), await describeApiReferenceLicense());
  await rm(BUILT_PAGE, { recursive: true, force: true });
  await rename(building, BUILT_PAGE);
  process.exitCode = isWithinBudgets(parts) ? 0 : 1;
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
 * Builds the service worker as one classic script, because Firefox has no service workers of modules. It shares modules with
 * the page, so it needs a build of its own.
 *
 * @param {string} folder
 */
async function buildServiceWorker(folder) {
  const { build } = await import('vite');
  await build({
    configFile: false,
    root: WEB,
    publicDir: false,
    logLevel: 'warn',
    build: {
      outDir: folder,
      emptyOutDir: false,
      target: ['chrome123', 'firefox121', 'safari17.5'],
      modulePreload: false,
      rolldownOptions: {
        input: join(WEB, 'src/service-worker/service-worker.ts'),
        output: { format: 'iife', entryFileNames: SERVICE_WORKER },
      },
    },
  });
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
 * Prints the sizes of what each page of a folder loads, and each part that exceeds its budget. Returns whether none does.
 *
 * @param {Awaited<ReturnType<typeof measurePage>>} parts
 */
function isWithinBudgets(parts) {
  let isWithinAll = true;
  for (const { name, bytes, budget, isOnEachPage } of parts) {
    // A part without files was renamed or removed.
    const problem =
      bytes > budget ? ', over the budget' : bytes === 0 ? ': no such part. Correct scripts/page-budget.js' : '';
    isWithinAll &&= problem === '';
    if (isOnEachPage || problem !== '') process.stdout.write(`${name}: ${bytes} of ${budget} bytes${problem}\n`);
  }
  return isWithinAll;
}
