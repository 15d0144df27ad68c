import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { readWebPage } from '../../src/http/page/web-page.ts';
import { explainStartError } from '../../src/server/serve.ts';
import { atEnd, type LogLine, temporaryFolder } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { fill } from '../faults/filled.ts';
import { mountTmpfs } from '../faults/mounts.ts';

type Settings = Readonly<Record<string, string>>;

/** Starts the service, which must fail. Returns the reason that a process would print. */
async function refusalOf(t: TestContext, settings: Settings): Promise<string> {
  const error: unknown = await startInProcess(t, { settings }).then(
    () => assert.fail('It starts.'),
    (reason: unknown) => reason,
  );
  const explanation = explainStartError(error);
  return explanation ?? assert.fail(error as Error);
}

async function accessFile(t: TestContext, text = '{ "grants": [] }'): Promise<string> {
  const file = join(await temporaryFolder(t), 'access.json');
  await writeFile(file, text);
  return file;
}

// What a process prints, and its exit code: start.test.ts. A GitHub repository: github-start.test.ts.
describe('A start fails, and explains why, when', () => {
  it('the port is in use', async (t) => {
    const taken = createServer().listen(0, '127.0.0.1');
    atEnd(t, () => taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    assert.equal(
      await refusalOf(t, { PORT: String(port) }),
      `127.0.0.1:${port} is already in use. Stop the program that listens there, or set PORT to another port.`,
    );
  });

  it('the address is not local', async (t) => {
    // An address reserved for documentation, which no machine has (RFC 5737).
    assert.equal(
      await refusalOf(t, { HOST: '192.0.2.1', PORT: '18080', ACCESS: 'open' }),
      '192.0.2.1:18080 is not an address of this machine. Set HOST to one of its addresses, or to 0.0.0.0 for all.',
    );
  });

  it('HOST cannot be resolved', async (t) => {
    // A name that never resolves (RFC 6761, section 6.4).
    assert.match(
      await refusalOf(t, { HOST: 'nowhere.invalid', ACCESS: 'open' }),
      /^Can't resolve HOST "nowhere\.invalid"/,
    );
  });

  it('the store refuses, late: the log says before that the start waits for it', async (t) => {
    const waiting: ServerResponse[] = [];
    const store = createHttpServer((_request, response) => void waiting.push(response)).listen(0, '127.0.0.1');
    atEnd(t, () => store.close());
    await once(store, 'listening');
    const log: LogLine[] = [];
    const refusal = startInProcess(t, {
      settings: {
        STORAGE_TYPE: 's3',
        S3_BUCKET: 'files',
        S3_ENDPOINT: `http://127.0.0.1:${(store.address() as AddressInfo).port}`,
        S3_ACCESS_KEY_ID: 'id',
        S3_SECRET_ACCESS_KEY: 'secret',
      },
      log,
    }).then(
      () => assert.fail('It starts.'),
      (reason: unknown) => explainStartError(reason),
    );
    await until('the log says so', () => JSON.stringify(log).includes('"Waiting for the store to respond"'));
    for (const response of waiting) response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
    assert.match(String(await refusal), /^The object store denied listing .* Cause: 403 AccessDenied$/);
  });

  it('the root is a file, which stays as it is', async (t) => {
    const root = join(await temporaryFolder(t), 'a file');
    await writeFile(root, 'mine');
    assert.match(
      await refusalOf(t, { DISK_ROOT: root }),
      new RegExp(`^DISK_ROOT ${RegExp.escape(root)} is not a folder\\.`),
    );
    assert.equal(await readFile(root, 'utf8'), 'mine');
  });

  it('the root is not writable', async (t) => {
    const root = await unwritableFolder(t);
    if (typeof root !== 'string') return t.skip(root.reason);
    assert.match(
      await refusalOf(t, { DISK_ROOT: root }),
      new RegExp(`${RegExp.escape(root)}.* can't be (used|written to)`),
    );
  });

  it('the disk is full at the first start', async (t) => {
    const root = join(await temporaryFolder(t), 'root');
    const reason = await mountTmpfs(t, root, 'size=64k');
    if (reason) return t.skip(reason);
    await fill(join(root, 'large'));
    assert.match(await refusalOf(t, { DISK_ROOT: root }), /full/);
  });

  it('the web UI is not built', async (t) => {
    await assert.rejects(readWebPage(await temporaryFolder(t)), (error) => {
      assert.match(String(explainStartError(error)), /^The web UI is not built .*\. Run "npm run build"\.$/);
      return true;
    });
  });

  it('the access file is invalid: with every mistake and its position', async (t) => {
    const text = '{\n  "people": { "ann": { "pasword": "x" } },\n  "grants": [{ "folder": "a//b" }]\n}';
    const reason = await refusalOf(t, { ACCESS_FILE: await accessFile(t, text) });
    assert.match(reason, /^.*access\.json has \d errors:\n {2}line 2, column \d+ \(people\.ann\.pasword\)/);
    assert.match(reason, /line 3, column \d+ \(grants\[0\]\.folder\)/);
  });

  it('the access file does not exist', async (t) => {
    const ACCESS_FILE = `${await accessFile(t)}.gone`;
    assert.match(await refusalOf(t, { ACCESS_FILE }), /^ACCESS_FILE .*\.gone can't be read: [^\n]*$/);
  });

  it('the state folder cannot store session revocations', async (t) => {
    const ACCESS_FILE = await accessFile(t);
    const taken = await temporaryFolder(t);
    await writeFile(join(taken, 'ended-sessions'), '');
    const SIGNING_KEY = 'k'.repeat(64);
    const refused: readonly Settings[] = [
      { STATE_DIR: '/proc/nowhere/state' },
      { STATE_DIR: '/proc/nowhere/state', SIGNING_KEY },
      { STATE_DIR: taken, SIGNING_KEY },
    ];
    for (const settings of refused) {
      assert.match(
        await refusalOf(t, { ACCESS_FILE, ...settings }),
        new RegExp(`^The settings have an error:\n {2}STATE_DIR ${settings['STATE_DIR']} can't be used: .*$`),
      );
    }
  });

  it('private files of the service are in the served folder', async (t) => {
    const root = await temporaryFolder(t);
    await mkdir(join(root, 'a'));
    const settings = {
      DISK_ROOT: root,
      ACCESS_FILE: join(root, 'access.json'),
      STATE_DIR: join(root, 'a', 'state'),
      AUDIT_LOG: join(root, 'audit.log'),
      CACHE_DIR: root,
    };
    const [title, ...lines] = (await refusalOf(t, settings)).split('\n');
    assert.equal(title, 'The settings have 4 errors:');
    for (const name of ['ACCESS_FILE', 'STATE_DIR', 'AUDIT_LOG', 'CACHE_DIR'] as const) {
      const problem = lines.find((line) => line.startsWith(`  ${name} ${settings[name]} is inside DISK_ROOT, where `));
      assert.match(problem ?? '', new RegExp(`Choose a path outside ${root}\\. Example: ${name}=/`));
    }
    assert.deepEqual(await readdir(join(root, 'a')), []);
  });

  it('the audit log cannot be written', async (t) => {
    assert.match(
      await refusalOf(t, { AUDIT_LOG: '/dev/null/audit.log' }),
      /^The settings have an error:\n {2}AUDIT_LOG \/dev\/null\/audit\.log can't be written: /,
    );
  });
});

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
