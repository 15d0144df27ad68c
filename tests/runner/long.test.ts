import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CONTRIBUTING = readFileSync(`${ROOT}CONTRIBUTING.md`, 'utf8');

/** The first comment of a file, before its first statement other than imports. */
const FIRST_COMMENT = /^(?:import [^;]*;\s*)*(\/\*[^]*?\*\/|\/\/ .*)/;

it('Each test that takes minutes says what only it proves, in its first comment and in CONTRIBUTING', () => {
  const files = globSync('tests/long/*.test.ts', { cwd: ROOT }).toSorted();
  const rows = Array.from(CONTRIBUTING.matchAll(/^\| `(tests\/long\/[\w.-]+)` +\| \S/gm), ([, file = '']) => file);
  assert.deepEqual(rows.toSorted(), files);
  for (const file of files) assert.match(readFileSync(ROOT + file, 'utf8'), FIRST_COMMENT, file);
});
