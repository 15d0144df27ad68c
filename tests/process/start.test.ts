import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readCommit } from '../../scripts/commit.js';
import { version } from '../../src/system.ts';
import { atEnd, type CommandResult, runHoldall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { mountTmpfs } from '../faults/mounts.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import { jsonOf, send } from '../http/client.ts';
import { contentsOf } from './temporary-files.ts';

/** Null in a source archive. */
const { commit: COMMIT } = readCommit(fileURLToPath(new URL('../../', import.meta.url)));

/** Whether the build had uncommitted changes is not known here. */
const withoutSuffix = (commit: unknown) => (typeof commit === 'string' ? commit.replace('-dirty', '') : commit);

describe('A start', () => {
  for (const WORKERS of isFullForm ? ['1', '2'] : ['1']) {
    it(`logs the service URL and the store in one line (WORKERS=${WORKERS})`, async (t) => {
      const root = join(await temporaryFolder(t), 'made when it is missing');
      const { ready, port, log } = await startHoldall(t, { root, settings: { WORKERS, THUMBNAIL_PROGRAMS: 'true' } });
      assert.equal(ready['url'], `http://127.0.0.1:${port}`);
      assert.equal(ready['serves'], root);
      assert.equal(ready['access'], 'full access from this machine only');
      assert.deepEqual([ready['version'], withoutSuffix(ready['commit'])], [version, COMMIT]);
      assert.equal(ready['workers'], Number(WORKERS));
      assert.equal(log.filter(({ msg }) => msg === 'Holdall is ready').length, 1);
      const listing = await send(port, '/');
      assert.deepEqual(jsonOf(listing), { success: true, prefix: '', entries: [] });
      assert.deepEqual(await contentsOf(root), []);
    });
  }

  for (const WORKERS of isFullForm ? ['1', '2'] : ['2']) {
    it(`fails with a one-line error when the port is in use (WORKERS=${WORKERS})`, async (t) => {
      const taken = createServer().listen(0, '127.0.0.1');
      atEnd(t, () => taken.close());
      await new Promise((resolve) => taken.once('listening', resolve));
      const address = taken.address();
      assert.ok(address && typeof address === 'object');
      const ran = await runHoldall(t, { settings: { WORKERS, PORT: String(address.port) } });
      assertRefused(
        ran,
        `127.0.0.1:${address.port} is already in use. Stop the program that listens there, or set PORT to another port.`,
      );
    });
  }

  for (const WORKERS of ['1', '2']) {
    it(
      `fails with a one-line error when the address is not local (WORKERS=${WORKERS})`,
      IN_FULL_FORM_ONLY,
      async (t) => {
        // An address reserved for documentation, which no machine has (RFC 5737).
        const ran = await runHoldall(t, { settings: { WORKERS, HOST: '192.0.2.1', PORT: '18080', ACCESS: 'open' } });
        assertRefused(
          ran,
          '192.0.2.1:18080 is not an address of this machine. Set HOST to one of its addresses, or to 0.0.0.0 for all.',
        );
      },
    );
  }

  it('fails with a one-line error when HOST cannot be resolved', async (t) => {
    // A name that never resolves (RFC 6761, section 6.4).
    const ran = await runHoldall(t, { settings: { HOST: 'nowhere.invalid', ACCESS: 'open' } });
    assertRefused(ran, /nowhere\.invalid/);
  });

  it('logs that it waits for a store that responds late', async (t) => {
    const refuse = (response: ServerResponse) =>
      response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
    const store = createHttpServer((_request, response) => void setTimeout(refuse, 2500, response));
    store.listen(0, '127.0.0.1');
    atEnd(t, () => store.close());
    await once(store, 'listening');
    const settings = {
      STORAGE_TYPE: 's3',
      S3_BUCKET: 'files',
      S3_ENDPOINT: `http://127.0.0.1:${(store.address() as AddressInfo).port}`,
      S3_ACCESS_KEY_ID: 'id',
      S3_SECRET_ACCESS_KEY: 'secret',
      WORKERS: '1',
    };
    const ran = await runHoldall(t, { settings });
    assert.equal(ran.code, 78);
    assert.match(ran.stdout, /"storageType":"s3","msg":"Waiting for the store to respond"/);
    assert.match(ran.stderr, /^holdall: The object store denied listing .* Cause: 403 AccessDenied\n$/);
  });

  it('fails with a one-line error when the root is a file', async (t) => {
    const root = join(await temporaryFolder(t), 'a file');
    await writeFile(root, 'mine');
    const ran = await runHoldall(t, { settings: { DISK_ROOT: root } });
    assertRefused(ran, new RegExp(`^holdall: DISK_ROOT ${RegExp.escape(root)} is not a folder\\.`));
    assert.equal(await readFile(root, 'utf8'), 'mine');
  });

  it('fails with a one-line error when the root is not writable', async (t) => {
    const root = await unwritableFolder(t);
    if (typeof root !== 'string') return t.skip(root.reason);
    const ran = await runHoldall(t, { settings: { DISK_ROOT: root } });
    assertRefused(ran, new RegExp(`${RegExp.escape(root)}.* can't be (used|written to)`));
  });

  it('fails with a one-line error when the disk is full', IN_FULL_FORM_ONLY, async (t) => {
    const root = join(await temporaryFolder(t), 'root');
    const reason = await mountTmpfs(t, root, 'size=64k');
    if (reason) return t.skip(reason);
    // The kernel keeps the bytes that fit, even if the last one does not.
    await writeFile(join(root, 'large'), Buffer.alloc(1024 * 1024)).catch(() => {});
    const ran = await runHoldall(t, { settings: { DISK_ROOT: root } });
    assertRefused(ran, /full/);
  });

  for (const WORKERS of ['1', '2']) {
    it(
      `fails with a one-line error when the web UI is not built (WORKERS=${WORKERS})`,
      IN_FULL_FORM_ONLY,
      async (t) => {
        const ran = await runHoldall(t, {
          script: await copyOf(t, ['bin', 'dist', 'package.json']),
          settings: { WORKERS },
        });
        assertRefused(ran, /^holdall: The web UI is not built .*\. Run "npm run build"\.$/m);
      },
    );
  }

  it('fails with a one-line error when the service is not built', async (t) => {
    const ran = await runHoldall(t, { script: await copyOf(t, ['bin', 'src', 'package.json']) });
    assertRefused(ran, /^holdall: The service is not built .*. Run "npm run build"\.$/m);
  });

  it('reports every invalid setting on its own line with an example, and prints no secret', async (t) => {
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
});

describe('The command line', () => {
  it('prints every setting and its default with help settings and exits', async (t) => {
    const ran = await runHoldall(t, { args: ['help', 'settings'], settings: { PORT: 'no port' } });
    assert.deepEqual([ran.code, ran.stderr], [0, '']);
    for (const name of [
      'DISK_ROOT [./data]',
      'HOST [127.0.0.1]',
      'PORT [8080]',
      'SHUTDOWN_TIMEOUT [30]',
      'SIGNING_KEY',
    ])
      assert.match(ran.stdout, new RegExp(`^ {2}${RegExp.escape(name)}$`, 'm'));
  });

  it('prints only the version and the commit with --version and exits', async (t) => {
    const ran = await runHoldall(t, { args: ['--version'], settings: { PORT: 'no port' } });
    const stdout = `${version} (${COMMIT ?? 'unknown commit'})\n`;
    assert.deepEqual({ ...ran, stdout: withoutSuffix(ran.stdout) }, { code: 0, signal: null, stdout, stderr: '' });
  });

  for (const argument of isFullForm ? ['--nonsense', 'nonsense'] : ['--nonsense']) {
    it(`rejects ${argument} with a one-line error and exits`, async (t) => {
      const ran = await runHoldall(t, { args: [argument] });
      assertRefused(ran, new RegExp(argument));
    });
  }
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
    assertOneLine(ran, new RegExp(`^holdall: Node\\.js ${RegExp.escape(its)} is too old\\. `));
  });
});

/** Asserts that stderr has exactly this line, and that the exit code is not 0. */
function assertRefused(ran: CommandResult, reason: string | RegExp): void {
  assertOneLine(ran, /^holdall: /);
  if (typeof reason === 'string') assert.equal(ran.stderr, `holdall: ${reason}\n`);
  else assert.match(ran.stderr, reason);
  assert.ok(ran.code !== null && ran.code > 0, `It ended with ${ran.code ?? ran.signal}.`);
}

function assertOneLine({ stdout, stderr }: CommandResult, line: RegExp): void {
  assert.equal(stdout, '', 'A refusal has no line in the log, and least of all a stack.');
  assert.match(stderr, line);
  assert.match(stderr, /^[^\n]+\n$/);
}

/** Returns the script of the command in a copy of only these files of the checkout. */
async function copyOf(t: TestContext, parts: readonly string[]): Promise<string> {
  const checkout = await temporaryFolder(t);
  const ours = fileURLToPath(new URL('../../', import.meta.url));
  for (const part of parts) await cp(join(ours, part), join(checkout, part), { recursive: true });
  await symlink(join(ours, 'node_modules'), join(checkout, 'node_modules'));
  return join(checkout, 'bin/holdall.js');
}

/** Returns a folder that this user may not write to, or the reason why there is none. */
async function unwritableFolder(t: TestContext): Promise<string | { reason: string }> {
  const folder = join(await temporaryFolder(t), 'read-only');
  if (process.getuid?.() === 0) {
    const reason = await mountTmpfs(t, folder, 'ro,size=64k');
    return reason === undefined ? folder : { reason: `root may write to every folder, and ${reason}` };
  }
  await mkdir(folder);
  await chmod(folder, 0o555);
  return folder;
}
