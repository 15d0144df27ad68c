import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

/*
 * Checks the imports of src/ and web/ against docs/architecture.md: a folder of src/ imports only from itself and from the
 * folders named here, the layers of web/src/ import only from lower ones, its models use no components, no backend
 * imports from another one, and no files import each other in a circle, type imports included. Only the registry selects
 * a backend by `STORAGE_TYPE`.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  model: [],
  streams: ['model'],
  concurrency: ['model'],
  cache: [],
  observability: ['model'],
  files: ['concurrency', 'model', 'streams'],
  database: ['model', 'system.ts'],
  access: ['cache', 'concurrency', 'files', 'model', 'system.ts'],
  settings: ['model', 'system.ts'],
  checks: ['concurrency', 'files', 'model'],
  changes: ['concurrency', 'database', 'model', 'observability'],
  undo: ['access', 'changes', 'files', 'model'],
  jobs: ['access', 'concurrency', 'database', 'files', 'model'],
  'app-tokens': ['access', 'cache', 'database', 'model'],
  links: ['access', 'database', 'files', 'model'],
  dav: ['database', 'files', 'model'],
  uploads: ['database', 'model'],
  webhooks: ['access', 'changes', 'concurrency', 'database', 'jobs', 'model', 'observability', 'system.ts'],
  stores: ['cache', 'checks', 'concurrency', 'files', 'model', 'observability', 'settings', 'streams', 'system.ts'],
  config: ['model', 'settings', 'stores', 'system.ts'],
  thumbnails: ['cache', 'concurrency', 'files', 'model', 'streams'],
  media: ['concurrency', 'files', 'model', 'streams', 'thumbnails'],
  zip: ['cache', 'concurrency', 'database', 'files', 'model', 'streams'],
  http: [
    'access',
    'app-tokens',
    'cache',
    'changes',
    'concurrency',
    'database',
    'dav',
    'files',
    'jobs',
    'links',
    'uploads',
    'media',
    'model',
    'observability',
    'streams',
    'system.ts',
    'thumbnails',
    'undo',
    'webhooks',
    'zip',
  ],
  server: [
    'access',
    'app-tokens',
    'changes',
    'config',
    'database',
    'dav',
    'files',
    'http',
    'jobs',
    'links',
    'uploads',
    'media',
    'model',
    'observability',
    'settings',
    'stores',
    'system.ts',
    'thumbnails',
    'webhooks',
  ],
  doctor: [
    'access',
    'checks',
    'concurrency',
    'config',
    'database',
    'files',
    'model',
    'server',
    'settings',
    'stores',
    'system.ts',
    'thumbnails',
  ],
  cli: [
    'access',
    'app-tokens',
    'changes',
    'config',
    'database',
    'doctor',
    'links',
    'uploads',
    'model',
    'settings',
    'stores',
    'system.ts',
    'webhooks',
  ],
  'main.ts': ['cli', 'config', 'server', 'settings', 'system.ts'],
  'system.ts': ['model'],
  web: [],
};

/** The layers of the web UI, in `web/src/`: each imports only from itself and from the layers named here. */
const WEB_LAYERS: Readonly<Record<string, readonly string[]>> = {
  platform: [],
  ui: ['platform'],
  model: ['platform'],
  features: ['platform', 'ui', 'model'],
  app: ['platform', 'ui', 'model', 'features'],
  'main.tsx': ['platform', 'ui', 'app'],
  'first-language.ts': ['platform'],
  'early.ts': [],
  'service-worker': ['platform'],
};

/** The folders and files of backends. None imports from another one, so that each can be read and loaded alone. */
const BACKENDS: readonly string[] = ['disk', 'github', 'memory.ts', 's3'];

/** A comparison of the storage type with a text, or a `switch` on it. Only a backend may distinguish its own types. */
const BRANCH_ON_TYPE =
  /\bSTORAGE_TYPE\b['"\]]*\s*[!=]==\s*['"`]|['"`]\s*[!=]==\s*[\w.]*\bSTORAGE_TYPE\b|switch \([\w.]*STORAGE_TYPE\)/;

/** The only file that the web UI imports types from. */
const SHARED_TYPES = 'src/http/schemas.ts';

/** An import or export from another file of the project: whether it is of types only, and the path of the file. */
const IMPORT = /(?:\b(?:import|export)\s+(type\b)?[^'"`;]*?\bfrom|\bimport)\s*\(?\s*['"`](\.[^'"`]+)['"`]/g;

const problems: string[] = [];
const imports = new Map<string, string[]>();
for await (const file of glob(['src/**/*.ts', 'web/*.ts', 'web/src/**/*.{ts,tsx}'])) {
  const folder = folderOf(file);
  const allowed = ALLOWED[folder];
  if (!allowed) problems.push(`scripts/check-imports.ts does not list the folder of ${file}.`);
  const imported: string[] = [];
  imports.set(file, imported);
  const source = readFileSync(file, 'utf8');
  if (backendOf(file) === undefined && BRANCH_ON_TYPE.test(source)) problems.push(`${file} branches on STORAGE_TYPE.`);
  if (isModel(file)) checkModel(file, source);
  for (const [, type, target = ''] of source.matchAll(IMPORT)) {
    const path = normalize(join(dirname(file), target));
    imported.push(path);
    const other = folderOf(path);
    const [backend, otherBackend] = [backendOf(file), backendOf(path)];
    if (backend !== undefined && otherBackend !== undefined && backend !== otherBackend) {
      problems.push(`${file} imports from the backend ${otherBackend}.`);
    }
    if (folder === 'web' && other === 'web') checkLayers(file, path);
    if (other === folder || allowed?.includes(other)) continue;
    if (folder === 'web' && path === SHARED_TYPES) {
      if (type === undefined) problems.push(`${file} imports more than types from ${SHARED_TYPES}.`);
      continue;
    }
    problems.push(`${file} imports from ${other}.`);
  }
}
problems.push(...findCircles().map((circle) => `These files import each other in a circle: ${circle.join(' → ')}.`));
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Returns the folder of src/ that a path is in, the file itself if it is directly in src/, or the first part of the path. */
function folderOf(file: string): string {
  const [top = file, second = file] = file.split('/');
  return top === 'src' ? second : top;
}

/** Reports an import from a layer that the layer of `file` must not know. Files outside of `web/src/` have no layer. */
function checkLayers(file: string, imported: string): void {
  const [layer, other] = [file, imported].map((path) => /^web\/src\/([^/]+)/.exec(path)?.[1]);
  if (layer === undefined || other === undefined || layer === other) return;
  if (!WEB_LAYERS[layer]) problems.push(`scripts/check-imports.ts does not list the layer of ${file}.`);
  else if (!WEB_LAYERS[layer].includes(other)) problems.push(`${file} imports from the layer ${other}.`);
}

function isModel(file: string): boolean {
  return file.startsWith('web/src/model/');
}

/** Reports components in a model of the web UI. Models may use signals, which need no page. */
function checkModel(file: string, source: string): void {
  if (file.endsWith('.tsx') || /from '(?!@preact\/signals')@?preact\b/.test(source)) {
    problems.push(`${file} is in web/src/model and uses Preact. Only @preact/signals is allowed there.`);
  }
}

/** Returns the backend that a file belongs to; undefined for all other files. */
function backendOf(file: string): string | undefined {
  const [source, stores, name] = file.split('/');
  return source === 'src' && stores === 'stores' ? BACKENDS.find((backend) => backend === name) : undefined;
}

/** Returns one circle of imports for each file that first closes one in a depth-first search. */
function findCircles(): string[][] {
  const circles: string[][] = [];
  const finished = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) circles.push([...path.slice(start), file]);
    if (start >= 0 || finished.has(file)) return;
    for (const imported of imports.get(file) ?? []) visit(imported, [...path, file]);
    finished.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return circles;
}
