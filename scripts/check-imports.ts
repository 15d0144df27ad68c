import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

/*
 * Holds the imports of src/ and web/ to the directions of docs/architecture.md: a room may import from itself and from
 * the rooms named here, and from no other. The web page is one room, to which the service has nothing but types.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  cache: [],
  access: ['domain'],
  config: ['domain'],
  layers: ['domain', 'tracing'],
  stores: ['domain', 'config', 'cache', 'version.ts'],
  thumbnails: ['domain', 'cache'],
  metrics: ['domain'],
  tracing: ['domain'],
  http: ['domain', 'access', 'metrics', 'thumbnails', 'tracing', 'version.ts', 'package-folder.ts'],
  process: ['access', 'config', 'domain', 'http', 'layers', 'metrics', 'stores', 'thumbnails', 'tracing', 'version.ts'],
  doctor: ['access', 'cache', 'config', 'domain', 'process', 'stores'],
  commands: ['access', 'config', 'doctor', 'domain', 'version.ts'],
  'main.ts': ['commands', 'config', 'process', 'version.ts'],
  'version.ts': ['package-folder.ts'],
  'package-folder.ts': [],
  web: [],
};

/** The one file that the web page takes types from. */
const SHARED_TYPES = 'src/http/schemas.ts';

/** An import or an export of what is in another file here: whether it is of types alone, and the path of the file. */
const IMPORT = /(?:\b(?:import|export)\s+(type\b)?[^'"`;]*?\bfrom|\bimport)\s*\(?\s*['"`](\.[^'"`]+)['"`]/g;

const problems: string[] = [];
for await (const file of glob(['src/**/*.ts', 'web/*.ts', 'web/src/**/*.{ts,tsx}'])) {
  const room = roomOf(file);
  const allowed = ALLOWED[room];
  if (!allowed) problems.push(`${file} is in no room that scripts/check-imports.ts knows.`);
  for (const [, type, target = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
    const path = normalize(join(dirname(file), target));
    const imported = roomOf(path);
    if (imported === room || allowed?.includes(imported)) continue;
    if (room === 'web' && path === SHARED_TYPES) {
      if (type === undefined) problems.push(`${file} imports more than types from ${SHARED_TYPES}.`);
      continue;
    }
    problems.push(`${file} imports from ${imported}.`);
  }
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** The first part of a path below src/: a folder, or a file that lies in src/ itself; elsewhere the first part. */
function roomOf(file: string): string {
  const [top = file, second = file] = file.split('/');
  return top === 'src' ? second : top;
}
