import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readCommit } from '../../scripts/commit.js';
import { type Owner, ownerOfSuite } from '../../testing/at-end.ts';
import { temporaryFolder } from '../../testing/holdall.ts';

const RUNNER = fileURLToPath(new URL('../../scripts/test.js', import.meta.url));

/** What the runs write into the build, which later tests of the service read. Without a search path, they find no git. */
const { commit, changed } = readCommit(fileURLToPath(new URL('../../', import.meta.url)));
const SOURCE_COMMIT = `${commit ?? ''}${changed ? '-dirty' : ''}`;

const PASSING = "import { it } from 'node:test'; it('passes', () => {});";

/** A test file that fails if it runs. */
const needing = (...needs: string[]) =>
  [
    "import { it } from 'node:test';",
    'type Need = string;',
    `export const needs: readonly Need[] = [${needs.map((need) => `'${need}'`).join(', ')}];`,
    "it('needs more than this machine has', () => { throw new Error('It ran.'); });",
  ].join('\n');

const NEEDING = {
  'bucket.test.ts': needing('bucket'),
  'browser.test.ts': needing('browser', 'redis'),
  'nginx.test.ts': needing('nginx'),
};

/** A test file that fails unless the runner has a busy loop for every core. */
const COUNTING = `import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { it } from 'node:test';
it('counts the busy loops', () => {
  const { ppid } = process;
  const children = readFileSync('/proc/' + ppid + '/task/' + ppid + '/children', 'latin1').trim().split(' ');
  const commands = children.map((pid) => readFileSync('/proc/' + pid + '/cmdline', 'latin1'));
  assert.equal(commands.filter((command) => command.includes('spin()')).length, availableParallelism());
});`;

const THROWING = `import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
const fail = async () => { await nextTurn(); throw new Error('lost'); };
it('passes', async () => { void fail(); await nextTurn(); await nextTurn(); });`;

const USING = `import { it } from 'node:test';
import { assertDeclared } from ${JSON.stringify(new URL('declared.ts', import.meta.url).href)};
it('uses Redis', () => assertDeclared('redis'));`;

const LEAVING = [
  "import { it } from 'node:test';",
  "import { createServer } from 'node:net';",
  "it('leaves a server', () => { createServer().listen(0, '127.0.0.1'); });",
].join('\n');

/** A test file whose CPU time is that of a child process. */
const SLOW = `import { it } from 'node:test';
import { spawnSync } from 'node:child_process';
it('is slow', () => void spawnSync(process.execPath, ['--eval', ${JSON.stringify(
  'const end = performance.now() + 150; while (performance.now() < end);',
)}]));`;

interface Run {
  readonly files: Readonly<Record<string, string>>;
  readonly options?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
}

/** Runs test files as a user without root rights, and with nothing on the search path. */
async function runTests(t: Owner, { files, options = [], settings = {} }: Run) {
  const folder = await temporaryFolder(t);
  const searchPath = join(folder, 'bin');
  await mkdir(searchPath);
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  const paths = Object.keys(files).map((name) => join(folder, name));
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUNNER, ...options, ...paths], {
    encoding: 'utf8',
    env: { PATH: searchPath, HOME: folder, SOURCE_COMMIT, ...settings },
  });
  return { status, stdout, stderr };
}

describe('npm test on a machine without the needed programs', () => {
  it('runs the other files, lists what it did not run and how to run it, and succeeds', async (t) => {
    const { status, stdout, stderr } = await runTests(t, { files: { 'plain.test.ts': PASSING, ...NEEDING } });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /^ℹ tests 1$/m);
    assert.match(stdout, /^ℹ pass 1$/m);
    const [, table = ''] = stdout.split('\nNot run:\n');
    for (const row of [
      /^ {2}bucket +1 file +needs an S3 object store \(missing: ceph-mon, .*\): apt-get install .* ceph-mon .*S3_TEST_ENDPOINT.* S3_TEST_REGION$/m,
      /^ {2}browser +1 file +needs Chromium .*: apt-get install --no-install-recommends chromium-headless-shell fontconfig fonts-noto-cjk$/m,
      /^ {2}redis +1 file +needs Redis \(missing: redis-server\): apt-get install --no-install-recommends redis-server$/m,
      /^ {2}nginx +1 file +needs nginx \(missing: nginx\): apt-get install --no-install-recommends nginx-light$/m,
    ])
      assert.match(table, row);
    assert.match(table, /\n\nTo make this a failure: npm test -- --require-all\n$/);
  });

  for (const [what, run] of [
    ['with CI=true', { settings: { CI: 'true' } }],
    ['with --require-all', { options: ['--require-all'] }],
  ] as const) {
    it(`fails ${what}, names each need, and runs nothing`, async (t) => {
      const { status, stdout, stderr } = await runTests(t, { files: { 'plain.test.ts': PASSING, ...NEEDING }, ...run });
      assert.equal(status, 1);
      assert.equal(stdout, '');
      for (const need of ['bucket', 'browser', 'redis', 'nginx']) assert.match(stderr, new RegExp(`^  ${need} `, 'm'));
    });
  }
});

describe('npm test', () => {
  it('succeeds with CI=true when the tests need nothing, and runs beside a busy loop for every core with --stress', async (t) => {
    const files = { 'plain.test.ts': PASSING, 'counting.test.ts': COUNTING };
    const { status, stdout } = await runTests(t, { files, options: ['--stress'], settings: { CI: 'true' } });
    assert.equal(status, 0, stdout);
    assert.doesNotMatch(stdout, /Not run/);
  });

  it('fails when no test runs', async (t) => {
    const options = ['--test-name-pattern=another name'];
    const { status, stderr } = await runTests(t, { files: { 'plain.test.ts': PASSING }, options });
    assert.equal(status, 1);
    assert.match(stderr, /^No test ran\.$/m);
  });

  it('rejects unknown options before it builds', async (t) => {
    const { status, stdout, stderr } = await runTests(t, { files: { 'plain.test.ts': PASSING }, options: ['--stres'] });
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, /^Node\.js does not accept --stres: .*bad option: --stres$/m);
  });

  describe('with files that fail', () => {
    const owner = ownerOfSuite();
    let run: Awaited<ReturnType<typeof runTests>>;
    before(async () => {
      // With --profile, each file has a process of its own.
      run = await runTests(owner, {
        files: {
          'plain.test.ts': PASSING,
          'slow.test.ts': SLOW,
          'failing.test.ts': "import { it } from 'node:test'; it('fails', () => { throw new Error('x'); });",
          'throwing.test.ts': THROWING,
          'using.test.ts': USING,
          'leaving.test.ts': LEAVING,
          'counting.test.ts': COUNTING,
        },
        options: ['--profile'],
        settings: { MAX_END_MS: '10' },
      });
    });
    const assertFailed = (test: string) => assert.match(run.stdout, new RegExp(`^ *✖ ${test} `, 'm'));

    it('fails', () => {
      assert.equal(run.status, 1);
      assert.match(run.stdout, /^ℹ fail 5$/m);
    });

    it('prints the test that fails', () => assertFailed('fails'));

    it('fails when an error is uncaught after an await, and prints where it was thrown', () => {
      assertFailed('\\S+throwing\\.test\\.ts');
      assert.match(run.stdout, /unhandledRejection: Error: lost\n +at fail .*throwing\.test\.ts:3:/);
    });

    it('fails a test file that uses what it does not declare', () => {
      assertFailed('uses Redis');
      assert.match(
        run.stdout,
        /using\.test\.ts must declare what it uses: export const needs: readonly Need\[\] = \['redis'\];/,
      );
    });

    it('fails a file, instead of running for ever, if a test leaves something that keeps its process running', () => {
      assertFailed('\\S+leaving\\.test\\.ts');
      assert.match(run.stdout, /The tests have ended, but these resources keep the process running: .*TCPServerWrap/);
    });

    it('runs beside no busy loop without --stress', () => assertFailed('counts the busy loops'));

    it('prints the slowest files by CPU time, including child processes, and the slowest tests with --profile', () => {
      assert.match(
        run.stdout,
        /CPU s {2}wall s {2}file\n(?: .*\n)*( +\d+\.\d){2} {2}\S+slow\.test\.ts\n(?: .*\n)*( +\d+\.\d){2} {2}\S+plain\.test\.ts\n/,
      );
      assert.match(
        run.stdout,
        /Slowest tests\n wall s {2}test\n(?: .*\n)* +\d+\.\d {2}\S+slow\.test\.ts: is slow\n(?: .*\n)* +\d+\.\d {2}\S+plain\.test\.ts: passes\n/,
      );
    });
  });

  it('fails for an unknown need and for a file that does not exist, and names them', async (t) => {
    const unknown = await runTests(t, { files: { 'unknown.test.ts': needing('buckets') } });
    assert.equal(unknown.status, 1);
    assert.match(unknown.stderr, /unknown\.test\.ts declares the unknown need "buckets"\.$/m);
    const absent = await runTests(t, { files: {}, options: ['tests/absent.test.ts'] });
    assert.equal(absent.status, 1);
    assert.equal(absent.stderr, 'No test file matches "tests/absent.test.ts".\n');
  });
});
