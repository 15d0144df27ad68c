import assert from 'node:assert/strict';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createToken } from '../../src/access/credentials.ts';
import { runCli } from '../../testing/cli.ts';
import { type Holdall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { type HttpResponse, jsonOf, postJson, send } from '../http/client.ts';
import { untilAllServe } from './serving.ts';

const PASSWORD = 'correct horse';
const hash = hashForTest(PASSWORD);
const laptop = createToken();

/** Ann has all permissions. Everyone may read the public folder. */
const ACCESS = {
  people: { ann: { password: hash, tokens: [{ name: 'laptop', hash: laptop.hash }] } },
  grants: [
    { folder: '/', to: { person: 'ann' }, rights: ['read', 'write', 'manage'] },
    { folder: '/public/', to: 'everyone', rights: ['read'] },
  ],
};

async function accessFile(t: TestContext, access: object | string = ACCESS): Promise<string> {
  const file = join(await temporaryFolder(t), 'access.json');
  await writeFile(file, typeof access === 'string' ? access : JSON.stringify(access));
  return file;
}

/** Replaces an access file as editors do. */
async function replace(file: string, access: object | string): Promise<void> {
  await writeFile(`${file}.new`, typeof access === 'string' ? access : JSON.stringify(access));
  await rename(`${file}.new`, file);
}

const byToken = (token: string) => ({ authorization: `Bearer ${token}` });

/** Signs in and returns the cookie. */
async function signIn({ port }: Holdall): Promise<string> {
  const response = await postJson(port, '/-/session', { name: 'ann', password: PASSWORD });
  assert.equal(response.status, 200, response.body.toString());
  return response.headers['set-cookie']?.[0]?.split(';')[0] ?? assert.fail('No cookie came.');
}

/** Sends requests until every process has responded as expected, without another response in between. */
async function untilAllRespond(holdall: Holdall, headers: Record<string, string>, status: number): Promise<void> {
  const pids = holdall.serving();
  await until(`all processes respond with ${status}`, async () => {
    const before = holdall.log.length;
    const responses: HttpResponse[] = [];
    for (let count = 0; count < 4 * pids.length; count++) responses.push(await send(holdall.port, '/', { headers }));
    const lines = holdall.log.slice(before).filter(({ msg }) => msg === 'request');
    return (
      responses.every((response) => response.status === status) &&
      pids.every((pid) => lines.some((line) => line['pid'] === pid))
    );
  });
}

describe('A service with an access file', () => {
  it('applies grants, sessions and changes in all processes, also after a restart', async (t) => {
    const file = await accessFile(t);
    const settings = { ACCESS_FILE: file, TRUST_PROXY: 'loopback' };
    const folder = join(await temporaryFolder(t), 'logs');
    const log = join(folder, 'audit.log');
    const holdall = await startHoldall(t, { settings: { ...settings, WORKERS: '2', AUDIT_LOG: log } });
    const { port } = holdall;
    await untilAllServe(holdall);
    const endSession = async (cookie: string) => {
      const { status } = await send(port, '/-/session', { method: 'DELETE', headers: { cookie } });
      assert.equal(status, 200);
    };

    await t.test(
      'writes an audit log that only its owner can read; SIGHUP reopens it; a failed reopen keeps it',
      async () => {
        assert.equal((await send(holdall.port, '/private/', { headers: { 'x-request-id': 'r1' } })).status, 401);
        const [line = ''] = (await readFile(log, 'utf8')).split('\n');
        const { time, ...rest } = JSON.parse(line) as Record<string, unknown>;
        assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
        assert.deepEqual(rest, {
          audit: 'refusal',
          who: null,
          way: null,
          from: '127.0.0.1',
          action: 'list',
          path: 'private/',
          outcome: 'refused',
          reason: 'Sign in to read "private/".',
          requestId: 'r1',
        });
        assert.equal((await stat(log)).mode & 0o777, 0o600);
        assert.ok(!holdall.log.some((printed) => 'audit' in printed));

        await rename(log, `${log}.1`);
        holdall.signal('SIGHUP');
        await until('all processes write to the new file', async () => {
          const before = await linesOf(`${log}.1`);
          for (let count = 0; count < 6; count++) await send(holdall.port, '/private/');
          return (await linesOf(`${log}.1`)) === before && (await linesOf(log)) >= 6;
        });

        const pids = holdall.serving();
        await rename(folder, `${folder}.1`);
        await writeFile(folder, 'no folder');
        holdall.signal('SIGHUP');
        const warnings = () => holdall.log.filter(({ msg }) => String(msg).startsWith('Audit log reopen failed'));
        await until('each process has logged it', () => warnings().length === 2);
        assert.deepEqual(new Set(warnings().map(({ pid }) => pid)), new Set(pids));
        assert.equal(warnings()[0]?.['file'], log);
        const before = await linesOf(join(`${folder}.1`, 'audit.log'));
        for (let count = 0; count < 6; count++) await send(holdall.port, '/private/');
        assert.equal(await linesOf(join(`${folder}.1`, 'audit.log')), before + 6);
        assert.deepEqual(holdall.serving(), pids);
      },
    );

    await t.test('ends a session in all processes', async () => {
      const ended = await signIn(holdall);
      assert.ok(await signedIn(holdall, ended));
      await endSession(ended);
      for (let count = 0; count < 8; count++) assert.equal(await signedIn(holdall, ended), false);
    });

    await t.test('accepts an app token in all processes until a command revokes it, and logs only its ID', async () => {
      const created = jsonOf(await postJson(port, '/-/app-tokens', { name: 'Phone' }, byToken(laptop.token)));
      const { secret, token } = created as { secret: string; token: { id: string } };
      await untilAllRespond(holdall, byToken(secret), 200);
      const environment = { DISK_ROOT: holdall.root, ACCESS_FILE: file };
      const revoked = await runCli(['app-token', 'revoke', token.id], { environment });
      assert.equal(revoked.code, 0, revoked.stderr);
      await untilAllRespond(holdall, byToken(secret), 401);
      const logged = holdall.printed() + (await readFile(join(`${folder}.1`, 'audit.log'), 'utf8'));
      assert.ok(logged.includes(token.id));
      assert.ok(!logged.includes(secret));
    });

    await t.test('applies a changed access file in all processes and ignores an invalid one', async () => {
      const { ann } = ACCESS.people;
      const cookie = await signIn(holdall);
      await untilAllRespond(holdall, { cookie }, 200);

      await replace(file, '{ "people": {}, "grants": [{ "folder": "/", "to": "nobody", "rights": ["read"] }] }');
      const warnings = () => holdall.log.filter(({ msg }) => String(msg).startsWith('Access file unusable'));
      await until('each process has logged it', () => warnings().length === 2);
      assert.match(JSON.stringify(warnings()[0]), /line 1, column \d+ \(grants\[0\]\.to\)/);
      await untilAllRespond(holdall, byToken(laptop.token), 200);

      // A new password ends the sessions, but not the tokens.
      await replace(file, { ...ACCESS, people: { ann: { ...ann, password: hashForTest('another') } } });
      await untilAllRespond(holdall, byToken(laptop.token), 200);
      await until('the session has ended', async () => !(await signedIn(holdall, cookie)));
      await replace(file, { ...ACCESS, people: { ann: { password: hash } } });
      await untilAllRespond(holdall, byToken(laptop.token), 401);
    });

    await t.test('ends the links and app tokens of a removed user, also for a later user of that name', async () => {
      await replace(file, ACCESS);
      await untilAllRespond(holdall, byToken(laptop.token), 200);
      const headers = { cookie: await signIn(holdall) };
      const created = async (path: string, body: object) => {
        const response = await postJson(port, path, body, headers);
        assert.equal(response.status, 200, response.body.toString());
        return jsonOf(response);
      };
      const { secret } = await created('/-/app-tokens', { name: 'Phone' });
      const { token } = await created('/-/links', { path: '' });
      const statuses = async () => [
        (await send(port, '/', { headers: byToken(String(secret)) })).status,
        (await send(port, `/-/s/${String(token)}/`)).status,
      ];
      assert.deepEqual(await statuses(), [200, 200]);
      await replace(file, { people: {}, grants: ACCESS.grants.slice(1) });
      await untilAllRespond(holdall, byToken(laptop.token), 401);
      await replace(file, ACCESS);
      await untilAllRespond(holdall, byToken(laptop.token), 200);
      assert.deepEqual(await statuses(), [401, 404]);
    });

    await t.test('keeps a session ended after a restart, and other sessions valid', async () => {
      const [ended, valid] = [await signIn(holdall), await signIn(holdall)];
      await endSession(ended);
      holdall.signal('SIGTERM');
      assert.deepEqual(await holdall.ended, { code: 0, signal: null });
      const next = await startInProcess(t, { root: holdall.root, settings });
      assert.equal(await signedIn(next, ended), false);
      assert.equal(await signedIn(next, valid), true);
    });
  });
});

async function signedIn({ port }: Pick<Holdall, 'port'>, cookie: string): Promise<boolean> {
  return jsonOf(await send(port, '/-/session', { headers: { cookie } }))['name'] !== null;
}

async function linesOf(file: string): Promise<number> {
  return (await readFile(file, 'utf8').catch(() => '')).split('\n').length - 1;
}
