import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, stat, symlink } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readCommit } from '../../scripts/commit.js';
import { version } from '../../src/system.ts';
import { ownerOfSuite } from '../../testing/at-end.ts';
import {
  atEnd,
  type CommandResult,
  type Holdall,
  runHoldall,
  startHoldall,
  temporaryFolder,
} from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { jsonOf, send, upload } from '../http/client.ts';
import { contentsOf } from './temporary-files.ts';

/** Null in a source archive. */
const { commit: COMMIT } = readCommit(fileURLToPath(new URL('../../', import.meta.url)));

/** Whether the build had uncommitted changes is not known here. */
const withoutSuffix = (commit: unknown) => (typeof commit === 'string' ? commit.replace('-dirty', '') : commit);

describe('A service process', () => {
  const owner = ownerOfSuite();
  let holdall: Holdall;
  before(async () => {
    const root = join(await temporaryFolder(owner), 'made when it is missing');
    holdall = await startHoldall(owner, { root, settings: { THUMBNAIL_PROGRAMS: 'true', UMASK: '007' } });
  });

  it('logs its URL and its store in one line', async () => {
    const { ready, port, root, log } = holdall;
    assert.equal(ready['url'], `http://127.0.0.1:${port}`);
    assert.equal(ready['serves'], root);
    assert.equal(ready['access'], 'full access from this machine only');
    assert.deepEqual([ready['version'], withoutSuffix(ready['commit'])], [version, COMMIT]);
    assert.equal(ready['workers'], 1);
    assert.equal(log.filter(({ msg }) => msg === 'Holdall is ready').length, 1);
    assert.deepEqual(jsonOf(await send(port, '/')), { success: true, prefix: '', entries: [] });
    assert.deepEqual(await contentsOf(root), []);
  });

  it('writes the audit log to stdout by default, and gives files and folders the permissions that UMASK leaves', async () => {
    const { port, root, log } = holdall;
    await upload(port, 'f/a', 'x');
    const change = await until('the change is printed', () => log.find((line) => line['audit'] === 'change'));
    assert.deepEqual([change['action'], change['path'], change['outcome']], ['upload', 'f/a', 'done']);
    const modeOf = async (path: string) => ((await stat(join(root, path))).mode & 0o777).toString(8);
    assert.deepEqual(await Promise.all(['f', 'f/a', '.holdall'].map(modeOf)), ['770', '660', '700']);
  });

  it('ignores SIGUSR1 and SIGUSR2, and survives SIGHUP', async () => {
    for (const name of ['SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const) holdall.signal(name);
    // The signals are delivered before the response, because they were sent before the request.
    assert.equal((await send(holdall.port, '/-/health/ready')).status, 200);
    assert.doesNotMatch(holdall.printed(), /Debugger listening/);
  });
});

// The reasons for failed starts: start-errors.test.ts.
describe('A start that fails', () => {
  it('of a worker prints one line, and exits', async (t) => {
    const taken = createServer().listen(0, '127.0.0.1');
    atEnd(t, () => taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const ran = await runHoldall(t, { settings: { WORKERS: '2', PORT: String(port) } });
    assertRefused(ran, /^holdall: 127\.0\.0\.1:\d+ is already in use\. /);
    assert.equal(ran.code, 78);
  });

  it('reports every invalid setting on its own line with an example, prints no secret, and exits with 78', async (t) => {
    const secret = 'hunter2-hunter2';
    const ran = await runHoldall(t, {
      settings: { PORT: '70000', WORKERS: 'many', STORAGE_TYPE: 'tape', LOG_LEVEL: 'loud', SIGNING_KEY: secret },
    });
    assert.equal(ran.code, 78);
    assert.equal(ran.stdout, '');
    const [title, ...problems] = ran.stderr.trimEnd().split('\n');
    assert.equal(title, 'holdall: The settings have 5 errors:');
    const named = problems.map((problem) => /^ {2}([A-Z_]+) must .*Example: \1=./.exec(problem)?.[1]);
    assert.deepEqual(new Set(named), new Set(['LOG_LEVEL', 'PORT', 'SIGNING_KEY', 'STORAGE_TYPE', 'WORKERS']));
    assert.doesNotMatch(ran.stderr, new RegExp(secret));
  });

  it('prints one line when the service is not built', async (t) => {
    const ran = await runHoldall(t, { script: await copyOf(t, ['bin', 'package.json']) });
    assertRefused(ran, /^holdall: The service is not built .*. Run "npm run build"\.$/m);
  });
});

describe('The command line', () => {
  it('prints only the version and the commit with --version and exits', async (t) => {
    const ran = await runHoldall(t, { args: ['--version'], settings: { PORT: 'no port' } });
    const stdout = `${version} (${COMMIT ?? 'unknown commit'})\n`;
    assert.deepEqual({ ...ran, stdout: withoutSuffix(ran.stdout) }, { code: 0, signal: null, stdout, stderr: '' });
  });
});

describe('An unsupported Node.js version', () => {
  const REFUSAL = /^holdall: Node\.js 20\.1\.0 is too old\. Install Node\.js 24 or later\. [^\n]+\n$/;

  it('prints the required and the current version and exits with 1', () => {
    const script =
      "Object.defineProperty(process.versions, 'node', { value: '20.1.0' });" +
      `(await import(${JSON.stringify(new URL('../../bin/require-node.js', import.meta.url))})).requireNode();` +
      "console.log('continued');";
    const ran = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
    assert.match(ran.stderr, REFUSAL);
    assert.deepEqual([ran.status, ran.stdout], [1, '']);
  });

  it('prints a one-line error when that Node.js runs the command', async (t) => {
    const old = '/usr/bin/node';
    if (!existsSync(old)) return t.skip(`there is no ${old}`);
    const its = spawnSync(old, ['--version'], { encoding: 'utf8' }).stdout.trim().slice(1);
    if (Number(its.split('.')[0]) >= 24) return t.skip(`${old} is of version ${its}, which is not too old`);
    const ran = await runHoldall(t, { command: [old] });
    assert.equal(ran.code, 1);
    assertRefused(ran, new RegExp(`^holdall: Node\\.js ${RegExp.escape(its)} is too old\\. `));
  });
});

/** Asserts that stderr is one line with the reason, that stdout is empty, and that the exit code is not 0. */
function assertRefused({ code, signal, stdout, stderr }: CommandResult, reason: RegExp): void {
  assert.equal(stdout, '', 'A refusal has no line in the log, and least of all a stack.');
  assert.match(stderr, /^holdall: [^\n]+\n$/);
  assert.match(stderr, reason);
  assert.ok(code !== null && code > 0, `It ended with ${code ?? signal}.`);
}

/** Returns the script of the command in a copy of only these files of the checkout. */
async function copyOf(t: TestContext, parts: readonly string[]): Promise<string> {
  const checkout = await temporaryFolder(t);
  const ours = fileURLToPath(new URL('../../', import.meta.url));
  for (const part of parts) await cp(join(ours, part), join(checkout, part), { recursive: true });
  await symlink(join(ours, 'node_modules'), join(checkout, 'node_modules'));
  return join(checkout, 'bin/holdall.js');
}
