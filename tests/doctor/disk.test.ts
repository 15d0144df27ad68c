import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { failed, ok } from '../../src/checks/check.ts';
import { CheckRunner, createReport, secretsOf } from '../../src/doctor/runner.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { networkAdvice } from '../../src/stores/network.ts';
import { runCli } from '../../testing/cli.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import { file, plant, silentLog } from '../contract/bytes.ts';
import { mountTmpfs } from '../faults/mounts.ts';
import { diagnose } from './diagnosis.ts';

/** Returns the entries of the folder, except the service's own. */
const inFolder = async (folder: string) => (await readdir(folder)).filter((name) => name !== '.holdall');

describe('holdall doctor on a disk', () => {
  it('reports no problem and leaves no files', async (t) => {
    const root = await temporaryFolder(t);
    const { code, with: having, of } = await diagnose({ DISK_ROOT: root });
    assert.deepEqual([code, having('failed'), having('warning')], [0, [], []]);
    assert.deepEqual(having('not tried'), ['url-live']);
    assert.equal(of('store-write').found, 'Wrote and read files of 0 bytes and 4 KiB.');
    assert.match(of('disk-attributes').found, /^(Replaced files keep their ACLs|The file system has no )/);
    assert.match(of('probe-removed').found, /^Removed the probe folder "holdall-doctor-[\da-f]{16}\/"\.$/);
    assert.deepEqual(await inFolder(root), []);
  });

  it('reports items of the trash without a record', async (t) => {
    const root = await temporaryFolder(t);
    const { store } = await openDisk({ root, log: silentLog });
    await plant(store, { a: 'x', b: 'y' });
    const [lost] = [
      await store.moveToTrash(file('a'), { id: newKeptId() }),
      await store.moveToTrash(file('b'), { id: newKeptId() }),
    ];
    await store.close?.();
    await rm(join(root, '.holdall', 'trash', `${lost.id}.json`));
    const { code, of } = await diagnose({ DISK_ROOT: root });
    const { status, found } = of('disk-trash');
    assert.deepEqual([code, status], [0, 'warning']);
    assert.equal(found.endsWith(`: ${join(root, '.holdall', 'trash', lost.id)}`), true, found);
    assert.match(found, /^1 item in the trash has no record/);
  });

  it('prints a line with advice for each check, and the counts, when run as a command', async (t) => {
    const root = await temporaryFolder(t);
    const settings = { DISK_ROOT: root, HOST: '0.0.0.0', ACCESS: 'open' };
    const { code, stdout, stderr } = await runCli(['doctor'], { environment: settings });
    assert.deepEqual([code, stderr], [0, '']);
    const lines = stdout.split('\n');
    assert.match(lines[0] ?? '', /^Holdall \d+\.\d+\.\d+ \((?:[\da-f]{40}(?:-dirty)?|unknown commit)\), Node\.js \d/);
    assert.equal(lines[1], 'ok         settings             The settings are valid: STORAGE_TYPE=disk.');
    const at = lines.findIndex((line) => line.startsWith('warning    access '));
    assert.equal(
      lines[at + 1],
      `${' '.repeat(32)}To do: Set ACCESS_FILE instead of ACCESS, unless only trusted users can reach the network.`,
    );
    assert.match(stdout, /\n\d+ ok, \d+ warnings, 0 failed, \d+ not tried\.\n$/);
  });

  it('reports every invalid setting without secrets and skips the other checks', async () => {
    const { code, findings, printed } = await diagnose({
      STORAGE_TYPE: 's3',
      PORT: 'eighty',
      S3_BUCKET: 'a/b',
      S3_SECRET_ACCESS_KEY: 'hunter2hunter2',
    });
    assert.equal(code, 1);
    const reported = findings.map(({ check, status, found }) => `${status} ${check} ${found.split(' ')[0]}`);
    assert.deepEqual(reported, [
      'failed settings S3_BUCKET',
      'failed settings PORT',
      'failed settings S3_ACCESS_KEY_ID',
      'failed settings S3_ENDPOINT',
      'not tried store-open Requires',
    ]);
    assert.doesNotMatch(printed, /hunter2/);
  });

  it('does not create a missing root folder', async (t) => {
    const root = join(await temporaryFolder(t), 'unmounted');
    const { code, of } = await diagnose({ DISK_ROOT: root });
    assert.equal(code, 1);
    assert.deepEqual(of('disk-root'), {
      check: 'disk-root',
      status: 'failed',
      found: `The folder ${root} (DISK_ROOT) does not exist. The service would create an empty one.`,
      advice: `Check DISK_ROOT, and that the disk is mounted. If both are correct: mkdir -p ${root}`,
    });
    assert.equal(of('store-open').found, 'Requires disk-root.');
    await assert.rejects(readdir(root));
  });

  it('gives advice when the disk is mounted read-only', async (t) => {
    const root = join(await temporaryFolder(t), 'mounted');
    const reason = await mountTmpfs(t, root, 'ro,size=1m');
    if (reason !== undefined) return t.skip(reason);
    const { code, of } = await diagnose({ DISK_ROOT: root });
    assert.equal(code, 1);
    assert.equal(
      of('store-open').found,
      `DISK_ROOT ${root} can't be used: The operating system denied access to the folder. Check its owner and permissions. Cause: EROFS: read-only file system, access '${root}'`,
    );
    const user = process.getuid?.();
    assert.equal(
      of('store-open').advice,
      `Give user ${user} read and write access to everything in ${root}: chown -R ${user} ${root}. Check that it is not mounted read-only: mount -o remount,rw`,
    );
    assert.equal(of('disk-kind').advice, 'Set DISK_ROOT to a folder on a disk.');
  });

  it('writes nothing with READ_ONLY=true', async (t) => {
    const root = await temporaryFolder(t);
    const { code, of, with: having } = await diagnose({ DISK_ROOT: root, READ_ONLY: 'true' });
    assert.equal(code, 0);
    assert.equal(of('store-read').status, 'ok');
    assert.deepEqual(of('store-write'), {
      check: 'store-write',
      status: 'not tried',
      found: 'READ_ONLY=true: the doctor writes nothing.',
    });
    assert.ok(!having('ok').includes('probe-removed'));
    assert.deepEqual(await inFolder(root), []);
  });

  it('checks the files and folders of the service', async (t) => {
    const folder = await temporaryFolder(t);
    const root = join(folder, 'root');
    await mkdir(root);
    const access = join(folder, 'access.json');
    await writeFile(access, '{ "people": { "ann": {} }, "grants": [] }');
    await chmod(access, 0o604);
    const { of } = await diagnose({
      DISK_ROOT: root,
      ACCESS_FILE: access,
      CACHE_DIR: join(root, 'cache'),
      STATE_DIR: join(access, 'state'),
      PUBLIC_URL: 'https://127.0.0.1:1',
    });
    assert.equal(of('secret-files').advice, `chmod o-rwx ${access}`);
    assert.match(of('private-paths').found, /CACHE_DIR .* is inside DISK_ROOT/);
    assert.equal(
      of('own-folders').advice,
      `Give ${access}/state to the user of the service, or set STATE_DIR to another folder.`,
    );
    assert.equal(
      of('public-address').advice,
      'Set TRUST_PROXY to the address of the proxy, or to loopback for this machine.',
    );
    assert.match(of('access').found, /"ann" has no password and no token/);
  });

  it('reports that Redis is unreachable', async (t) => {
    const root = await temporaryFolder(t);
    const url = `redis://:hunter2hunter2@127.0.0.1:${await findFreePort()}`;
    const { of, printed } = await diagnose({ DISK_ROOT: root, REDIS_URL: url });
    assert.deepEqual(
      [of('redis').status, of('redis').advice],
      ['failed', 'Check REDIS_URL, and that Redis runs and accepts connections from this machine.'],
    );
    assert.doesNotMatch(printed, /hunter2/);
  });

  it('rejects invalid arguments', async () => {
    for (const args of [
      ['doctor', '--url', 'files.example.org'],
      ['doctor', 'disk'],
      ['doctor', '--fix'],
    ]) {
      const { code, stdout, stderr } = await runCli(args);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, /^holdall: .+ See "holdall doctor --help"\.\n$/);
    }
  });
});

describe('The report', () => {
  it('contains no secrets and no terminal control sequences from any source', () => {
    let printed = '';
    const secrets = secretsOf({ GITHUB_TOKEN: 'github_pat_1', REDIS_URL: 'redis://:hunter2@redis' }, 'holdall_1');
    const report = createReport({ json: false, print: (text) => void (printed += text), secrets });
    report.add('first', failed('It says holdall_1\u001b[2J\n', 'Not github_pat_1 at redis://:hunter2@redis.'));
    assert.equal(report.end(), false);
    assert.deepEqual(printed.split('\n').slice(1), [
      'failed     first                It says (secret) [2J ',
      `${' '.repeat(32)}To do: Not (secret) at (secret).`,
      '0 ok, 0 warnings, 1 failed, 0 not tried.',
      '',
    ]);
  });
});

describe('The checks', () => {
  const run = async (t: TestContext, work: (signal: AbortSignal) => Promise<unknown>) => {
    const reported: string[] = [];
    const ending = new AbortController();
    atEnd(t, () => ending.abort());
    const runner = new CheckRunner({
      report: (name, { status, found }) => void reported.push(`${name} ${status}: ${found}`),
      isReadOnly: () => false,
      signal: ending.signal,
    });
    const check = (name: string, needs?: string) => ({
      name,
      ...(needs !== undefined && { needs }),
      timeout: 20,
      run: async (_: unknown, signal: AbortSignal) => {
        if (name === 'first') await work(signal);
        return ok('well');
      },
      explain: () => 'nothing',
    });
    await runner.run([check('first'), check('second', 'first'), check('third')], undefined);
    return reported;
  };

  it('fail after the timeout, and dependent checks are skipped', async (t) => {
    assert.deepEqual(await run(t, () => new Promise(() => {})), [
      'first failed: Timed out after 0.02 seconds.',
      'second not tried: Requires first.',
      'third ok: well',
    ]);
  });

  it('get the advice for a network timeout after the timeout', async () => {
    const advice: (string | undefined)[] = [];
    const runner = new CheckRunner({
      report: (_name, finding) => void advice.push(finding.advice),
      isReadOnly: () => false,
      signal: new AbortController().signal,
    });
    const never = () => new Promise<never>(() => {});
    const explain = (error: unknown) => networkAdvice(error, 'unknown host') ?? 'none';
    await runner.run([{ name: 'slow', timeout: 20, run: never, explain }], undefined);
    assert.deepEqual(advice, ['Correct the host and port, or open the firewall.']);
  });

  it('fail with the message of the thrown error', async (t) => {
    const reported = await run(t, () => Promise.reject(new Error('broken')));
    assert.deepEqual(reported.slice(0, 2), ['first failed: broken', 'second not tried: Requires first.']);
  });
});
