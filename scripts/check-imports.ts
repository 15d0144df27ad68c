import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

/*
 * Holds the imports of src/ to the directions of docs/architecture.md: a room may import from itself and from the
 * rooms named here, and from no other.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  cache: [],
  config: ['domain'],
  layers: ['domain'],
  stores: ['domain', 'config', 'cache', 'version.ts'],
  thumbnails: ['domain', 'cache'],
  http: ['domain', 'thumbnails', 'version.ts'],
  process: ['config', 'domain', 'http', 'layers', 'stores', 'thumbnails'],
  'main.ts': ['config', 'process', 'version.ts'],
  'version.ts': [],
};

const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;

const problems: string[] = [];
for await (const file of glob('src/**/*.ts')) {
  const room = roomOf(file);
  const allowed = ALLOWED[room];
  if (!allowed) problems.push(`${file} is in no room that scripts/check-imports.ts knows.`);
  for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
    const imported = roomOf(normalize(join(dirname(file), target)));
    if (imported !== room && !allowed?.includes(imported)) problems.push(`${file} imports from ${imported}.`);
  }
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** The first part of a path below src/: a folder, or a file that lies in src/ itself. */
function roomOf(file: string): string {
  return file.split('/')[1] ?? file;
}
