import { appendFile, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireNode } from '../bin/require-node.js';
import { INSTALLED, NEVER_LOADED } from './external-packages.js';

// Bundles src and the packages that it uses into a few JavaScript files in dist. Compared with the sources, the bundle starts
// in a third of the time and half of the memory, because Node.js strips no types and resolves no modules.

requireNode();

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BUILT = join(ROOT, 'dist');

/** The programs, by their names in `dist`: the service, and the process that it starts. */
const ENTRIES = { main: 'src/main.ts', 'render-process-main': 'src/thumbnails/render-process-main.ts' };

/**
 * The modules that become one file, by their names: those that each of the modules imports statically, except those of earlier groups.
 * A start then finds, reads and links a few files instead of 70.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const GROUPS = {
  start: ['src/main.ts'],
  run: ['src/cli/run.ts'],
  render: ['src/thumbnails/render-process-main.ts', 'src/server/service.ts'],
  serve: ['src/server/serve.ts'],
  database: ['src/cli/selected-command.ts', 'src/server/service.ts'],
  service: ['src/server/service.ts'],
  command: ['src/cli/selected-command.ts'],
  disk: ['src/stores/disk/disk.ts'],
  sqlite: ['src/database/sqlite/engine.ts'],
};

const { build } = await import('vite').catch((/** @type {unknown} */ error) => {
  throw new Error('Vite is missing. Run "npm ci".', { cause: error });
});

// Built in a temporary folder, which then replaces `dist`: a service may be running from the previous build.
const temporary = await mkdtemp(join(ROOT, '.build-'));
try {
  const building = join(temporary, 'dist');
  await build({
    configFile: false,
    root: ROOT,
    publicDir: false,
    logLevel: 'warn',
    plugins: [lightHttp(), withoutGlob()],
    ssr: { noExternal: true, external: [...INSTALLED, ...NEVER_LOADED] },
    // The other entry points of some packages load modules by computed names, which can't be bundled.
    resolve: { mainFields: ['module', 'main'] },
    build: {
      ssr: true,
      outDir: building,
      target: 'node24',
      // Keeps stack traces in the log readable.
      minify: false,
      license: { fileName: 'licenses.md' },
      rolldownOptions: {
        // File names depend on it. This makes them independent of the working directory.
        cwd: ROOT,
        // Bottleneck uses `eval` to load Redis clients, which Holdall doesn't use.
        checks: { eval: false },
        input: Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, join(ROOT, file)])),
        // In one folder, because `import.meta.dirname` must be directly below the package, as in src.
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: '[name]-[hash].js',
          codeSplitting: { groups: Object.entries(GROUPS).map(createGroup) },
        },
      },
    },
  });
  // The licence that the packages of koffi lack, for images, which contain them.
  await appendFile(join(building, 'licenses.md'), await readFile(join(ROOT, 'scripts/koffi-license.txt')));
  await rm(BUILT, { recursive: true, force: true });
  await rename(building, BUILT);
} finally {
  await rm(temporary, { recursive: true, force: true });
}

/**
 * Returns a group for the bundler. Earlier groups have priority.
 *
 * @param {[name: string, importers: readonly string[]]} group
 * @param {number} index
 * @returns {import('vite').Rolldown.CodeSplittingGroup}
 */
function createGroup([name, importers], index) {
  /** @type {Set<string> | undefined} */
  let members;
  return {
    debugName: name,
    priority: Object.keys(GROUPS).length - index,
    name: (id, graph) => {
      members ??= importers
        .map((path) => importsOf(join(ROOT, path), graph))
        .reduce((all, each) => all.intersection(each));
      return members.has(id) ? name : null;
    },
  };
}

/**
 * Returns what a module imports, without the module itself: files that import from its group would wait for the top-level await
 * of a program.
 *
 * @param {string} importer
 * @param {{ getModuleInfo(id: string): { importedIds: string[] } | null }} graph
 */
function importsOf(importer, graph) {
  const found = new Set(graph.getModuleInfo(importer)?.importedIds);
  for (const id of found) for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) found.add(imported);
  return found;
}

/**
 * Omits the members of `node:http` and `node:https` that load other modules when they are read. A namespace import reads
 * all members, and so loads the whole of undici, which costs 22 ms and 14 MB at each start.
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

/**
 * Omits the package `glob`, which @fastify/static loads at each start, and uses only to make a route for each file. Here, one route
 * serves all files.
 *
 * @returns {import('vite').Plugin}
 */
function withoutGlob() {
  const id = '\0without-glob';
  return {
    name: 'without-glob',
    enforce: 'pre',
    resolveId: (name) => (name === 'glob' ? id : null),
    load: (name) =>
      name === id ? "export function glob() { throw new Error('The build contains no glob patterns.'); }" : null,
  };
}
