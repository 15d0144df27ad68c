import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type Actor, type AuditEvent, noAudit } from '../../src/access/audit.ts';
import { openAuditLog } from '../../src/server/audit-log.ts';
import { atEnd, runHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { mountTmpfs } from '../faults/mounts.ts';
import { send, upload } from '../http/client.ts';

describe('The audit log', () => {
  // That SIGHUP reopens it in all processes: access.test.ts.
  for (const WORKERS of ['1', '2']) {
    it(`does not stop a service that receives SIGHUP during startup (WORKERS=${WORKERS})`, async (t) => {
      const folder = await temporaryFolder(t);
      const log = join(folder, 'audit.log');
      const first = join(folder, 'pid');
      const signalled = Promise.withResolvers<void>();
      // A store that gets a request when the service starts, and responds after the signal.
      const store = createServer((_request, response) => {
        void readFile(first, 'utf8')
          .then((pid) => process.kill(Number(pid), 'SIGHUP'))
          .then(() => until('the signal has arrived', async () => !(await hasPending(first))))
          .then(() => signalled.resolve(), signalled.reject)
          .finally(() => response.writeHead(403).end());
      }).listen(0, '127.0.0.1');
      atEnd(t, () => store.close());
      await new Promise((resolve) => store.once('listening', resolve));
      const address = store.address();
      assert.ok(address && typeof address === 'object');
      const { code, signal, stdout } = await runHoldall(t, {
        command: ['/bin/sh', '-c', `echo $$ > ${first}; exec "$0" "$@"`, process.execPath],
        settings: {
          WORKERS,
          AUDIT_LOG: log,
          STORAGE_TYPE: 's3',
          S3_BUCKET: 'bucket',
          S3_ENDPOINT: `http://127.0.0.1:${address.port}`,
          S3_ACCESS_KEY_ID: 'id',
          S3_SECRET_ACCESS_KEY: 'secret',
        },
      });
      await signalled.promise;
      assert.deepEqual({ code, signal }, { code: 78, signal: null });
      assert.doesNotMatch(stdout, /Worker died/);
    });
  }

  it('fails no request and loses no event on a full disk', async (t) => {
    const settings = { ACCESS_FILE: await accessFile(t), AUDIT_LOG: '/dev/full', TRUST_PROXY: 'loopback' };
    const { port, log, stop } = await startInProcess(t, { settings });
    const { status } = await send(port, '/private/', { headers: { 'x-request-id': 'r1' } });
    assert.equal(status, 401);
    const warnings = log.filter(({ msg }) => String(msg).startsWith('Audit log write failed'));
    assert.equal(warnings.length, 1);
    assert.match(String(warnings[0]?.['reason']), /ENOSPC/);
    assert.match(JSON.stringify(warnings[0]?.['event']), /"audit":"refusal".*"path":"private\/".*"requestId":"r1"/);
    assert.equal(warnings[0]?.['level'], 'error');
    assert.equal((await upload(port, 'inbox/a.txt', 'a')).status, 200);
    assert.equal((await send(port, '/file/inbox/a.txt')).body.toString(), 'a');
    assert.equal(await stop(), 'finished');
  });

  it('keeps the service running when stdout and the service log are also on a full disk', async (t) => {
    const folder = await temporaryFolder(t);
    const port = await findFreePort();
    const first = join(folder, 'pid');
    const ran = runHoldall(t, {
      command: ['/bin/sh', '-c', `echo $$ > ${first}; exec "$0" "$@" > /dev/full`, process.execPath],
      settings: { ACCESS: 'open', PORT: String(port), DISK_ROOT: join(folder, 'root') },
    });
    const isServed = () =>
      send(port, '/').then(
        () => true,
        () => false,
      );
    await until('it serves, or has ended', () => Promise.race([isServed(), ran.then(() => true)]));
    assert.equal((await upload(port, 'a.txt', 'a')).status, 200);
    process.kill(Number(await readFile(first, 'utf8')), 'SIGTERM');
    const { code, stderr } = await ran;
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  });
});

/** Everyone may read and write only the folder `inbox`, and therefore list the root. */
async function accessFile(t: TestContext): Promise<string> {
  const file = join(await temporaryFolder(t), 'access.json');
  await writeFile(file, '{ "grants": [{ "folder": "/inbox/", "to": "everyone", "rights": ["read", "write"] }] }');
  return file;
}

/** Returns whether the process in a file, or a child of it, has a pending SIGHUP. */
async function hasPending(file: string): Promise<boolean> {
  const pid = (await readFile(file, 'utf8')).trim();
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const states = [pid, ...children.split(' ').filter(Boolean)].map((each) =>
    readFile(`/proc/${each}/status`, 'utf8').catch(() => ''),
  );
  return (await Promise.all(states)).some((status) =>
    [...status.matchAll(/^(?:Sig|Shd)Pnd:\s*([0-9a-f]+)$/gm)].some(([, mask]) => (BigInt(`0x${mask}`) & 1n) === 1n),
  );
}

const EVENT: AuditEvent = { event: 'change', action: 'upload', path: 'a', outcome: 'done' };
const CLIENT: Actor = { user: undefined, authMethod: undefined, clientAddress: '192.0.2.1', requestId: 'r' };

describe('A line of the audit log', () => {
  it('names the app token of the request, or the one that a user creates', async (t) => {
    const file = join(await temporaryFolder(t), 'audit.log');
    const audit = openAuditLog(file, { error: () => assert.fail('Nothing is wrong.') });
    const user = { name: 'ann', groups: [] };
    audit.write(EVENT, { ...CLIENT, user, authMethod: 'app-token', appToken: 'sent' });
    audit.write({ ...EVENT, appToken: 'created' }, { ...CLIENT, user, authMethod: 'session' });
    audit.write(EVENT, CLIENT);
    audit.close();
    const lines = (await readFile(file, 'utf8')).trim().split('\n');
    const found = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      found.map(({ way, appToken }) => [way, appToken]),
      [
        ['app-token', 'sent'],
        ['session', 'created'],
        [null, undefined],
      ],
    );
  });

  it('truncates long values and stays on one line for any value', async (t) => {
    const file = join(await temporaryFolder(t), 'audit.log');
    const audit = openAuditLog(file, { error: () => assert.fail('Nothing is wrong.') });
    const long = '\n"\u0000\u001b[31m'.repeat(2000);
    audit.write({ ...EVENT, path: long, destination: 'x'.repeat(2048), reason: `${'x'.repeat(2047)}😀` }, CLIENT);
    const controlCharacters = 'b\r\nc\u007f\u009b31m\u2028\u202e';
    audit.write({ ...EVENT, name: controlCharacters }, { ...CLIENT, requestId: long });
    audit.close();
    const [first = '', second = '', end] = (await readFile(file, 'utf8')).split('\n');
    assert.equal(end, '');
    assert.doesNotMatch(first + second, /\p{Cc}|\p{Zl}|\p{Bidi_Control}/u);
    const cut = JSON.parse(first) as Record<string, string>;
    assert.equal(cut['path'], `${long.slice(0, 2048)}… (truncated from ${long.length} characters)`);
    assert.equal(cut['destination'], 'x'.repeat(2048));
    assert.equal(cut['reason'], `${'x'.repeat(2047)}\ufffd… (truncated from 2049 characters)`);
    const { name, requestId } = JSON.parse(second) as Record<string, string>;
    assert.equal(name, controlCharacters);
    assert.equal(requestId, cut['path']);
  });

  it('is complete after a line that a full disk truncated', async (t) => {
    const folder = join(await temporaryFolder(t), 'small');
    const reason = await mountTmpfs(t, folder, 'size=64k');
    if (reason) return t.skip(reason);
    const errors: object[] = [];
    const audit = openAuditLog(join(folder, 'audit.log'), { error: (details: object) => void errors.push(details) });
    const spare = join(folder, 'spare');
    await writeFile(spare, Buffer.alloc(8192));
    let written = 0;
    while (errors.length === 0) audit.write({ ...EVENT, path: `${'a'.repeat(2000)}${written++}` }, CLIENT);
    assert.match(JSON.stringify(errors), /"reason":"ENOSPC/);
    await rm(spare);
    audit.write({ ...EVENT, path: 'after' }, CLIENT);
    audit.close();
    const lines = (await readFile(join(folder, 'audit.log'), 'utf8')).split('\n');
    assert.equal(lines.length, written + 2);
    const torn = lines.at(-3) ?? '';
    assert.ok(torn !== '' && !torn.endsWith('}'), 'The disk had room for a part of the line.');
    assert.equal(JSON.parse(lines.at(-2) ?? '')['path'], 'after');
  });

  it('goes nowhere with AUDIT_LOG=off', () => {
    assert.equal(openAuditLog('off', { error: () => assert.fail('Nothing is wrong.') }), noAudit);
  });

  it('goes to the service log after the audit log is closed', async (t) => {
    const file = join(await temporaryFolder(t), 'audit.log');
    const errors: object[] = [];
    const audit = openAuditLog(file, { error: (details: object) => void errors.push(details) });
    audit.close();
    audit.write(EVENT, CLIENT);
    audit.reopen();
    audit.close();
    assert.match(JSON.stringify(errors), /"path":"a".*"reason":"The audit log is closed\."/);
    assert.equal(await readFile(file, 'utf8'), '');
  });
});
