import { mkdtemp, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireNode } from '../bin/require-node.js';
import { INSTALLED, NEVER_LOADED } from './external-packages.js';

// Builds the service into dist: plain JavaScript, in a few files, of src and of the packages that it uses. It starts in a
// third of the time that the sources take, and in half of their memory: nothing is translated, and nothing is searched for.

requireNode();

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BUILT = join(ROOT, 'dist');

/** Programs of their own: the service, and what it starts, by their names in `dist`. */
const ENTRIES = { main: 'src/main.ts', 'render-process-main': 'src/thumbnails/render-process-main.ts' };

const { build } = await import('vite').catch((/** @type {unknown} */ error) => {
  throw new Error('The service is built with Vite, which "npm ci" installs.', { cause: error });
});

// Aside, and then put in its place when it is whole: a service may be running on the one before.
const aside = await mkdtemp(join(ROOT, '.build-'));
try {
  const building = join(aside, 'dist');
  await build({
    configFile: false,
    root: ROOT,
    publicDir: false,
    logLevel: 'warn',
    plugins: [lightHttp()],
    ssr: { noExternal: true, external: [...INSTALLED, ...NEVER_LOADED] },
    // Some packages have an entry of a third kind, which loads parts by names that nobody can follow.
    resolve: { mainFields: ['module', 'main'] },
    build: {
      ssr: true,
      outDir: building,
      target: 'node24',
      // Where an error was thrown is to be read in the log.
      minify: false,
      license: { fileName: 'licenses.md' },
      rolldownOptions: {
        // The names of files depend on it: they are the same wherever the build is started.
        cwd: ROOT,
        // Bottleneck has an `eval` where it loads clients of Redis, which nothing asks it to.
        checks: { eval: false },
        input: Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, join(ROOT, file)])),
        // All in one folder: `import.meta.dirname` is right below that of the package, as in src.
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  });
  await rm(BUILT, { recursive: true, force: true });
  await rename(building, BUILT);
} finally {
  await rm(aside, { recursive: true, force: true });
}

/**
 * Has `node:http` and `node:https` imported without those of their members that load something when they are read. An
 * import reads them all, and with them the whole of undici: 22 ms of each start, and 14 MB.
 *
 * @returns {import('vite').Plugin}
 */
function lightHttp() {
  const require = createRequire(import.meta.url);
  const prefix = '\0light:';
  return {
    name: 'light-http',
    enforce: 'pre',
    resolveId: (id) => (/^(node:)?https?$/.test(id) ? `${prefix}node:${id.replace('node:', '')}` : null),
    load(id) {
      if (!id.startsWith(prefix)) return null;
      const name = id.slice(prefix.length);
      const members = Object.entries(Object.getOwnPropertyDescriptors(require(name)));
      const names = members.filter(([, { get }]) => get === undefined).map(([member]) => member);
      return [
        `const whole = process.getBuiltinModule('${name}');`,
        'export default whole;',
        `export const { ${names.join(', ')} } = whole;`,
      ].join('\n');
    },
  };
}
