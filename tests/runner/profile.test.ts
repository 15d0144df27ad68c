import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { comparePaths } from '../../src/domain/path.ts';
import { temporaryFolder } from '../process/holdall.ts';

const PROFILE = fileURLToPath(new URL('../../scripts/test-profile.js', import.meta.url));

it('prints the CPU time of each test file with its child processes, and the slowest tests', async (t) => {
  const folder = await temporaryFolder(t);
  const spin = 'const end = performance.now() + 150; while (performance.now() < end);';
  await writeFile(join(folder, 'quick.test.js'), "require('node:test').it('is quick', () => {});");
  await writeFile(join(folder, 'spin.js'), spin);
  const parent = "require('node:child_process').spawnSync(process.execPath, ['spin.js']);";
  await writeFile(join(folder, 'slow.test.js'), `require('node:test').it('is slow', () => { ${parent} });`);
  const recording = join(folder, 'cpu');
  await writeFile(recording, '');
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--test', `--import=${PROFILE}`, `--test-reporter=${PROFILE}`, 'quick.test.js', 'slow.test.js'],
    { cwd: folder, encoding: 'utf8', env: { ...environment, TEST_PROFILE: recording } },
  );
  assert.equal(status, 0, stderr);
  const [, slow = '', quick = ''] = /CPU s {2}wall s {2}file\n(.*) slow\.test\.js\n(.*) quick\.test\.js\n/.exec(
    stdout,
  ) ?? [stdout];
  assert.match(`${slow}${quick}`, /^( +\d+\.\d){2} ( +\d+\.\d){2} $/);
  assert.match(stdout, /Slowest tests\n wall s {2}test\n +\d\.\d {2}slow\.test\.js: is slow\n/);
  const recorded = (await readFile(recording, 'utf8')).trim().split('\n');
  assert.deepEqual(
    recorded.map((line) => basename(String(Object(JSON.parse(line)).file))).toSorted(comparePaths),
    ['quick.test.js', 'slow.test.js'],
    'The process that a test started records nothing.',
  );
});
