import assert from 'node:assert/strict';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createToken } from '../../src/access/credentials.ts';
import { runCli } from '../../testing/cli.ts';
import { type Holdall, runHoldall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { until } from '../../testing/until.ts';
import { isFullForm } from '../full-forms.ts';
import { assertFailure, type HttpResponse, jsonOf, postJson, send } from '../http/client.ts';
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
async function untilAllResponse(holdall: Holdall, headers: Record<string, string>, status: number): Promise<void> {
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
    const settings = { ACCESS_FILE: file, WORKERS: '2' };
    const first = await startHoldall(t, { settings });
    await untilAllServe(first);

    await t.test('grants each user their permissions, shows them in listings and rejects other users', async () => {
      const { port } = first;
      assert.deepEqual(jsonOf(await send(port, '/')), { success: true, prefix: '', entries: [], rights: [] });
      assertFailure(await send(port, '/private/'), 401, 'Sign in to read "private/".');
      const headers = byToken(laptop.token);
      assert.equal((await postJson(port, '/create_folder', { path: 'private' }, headers)).status, 200);
      assert.deepEqual(jsonOf(await send(port, '/private/', { headers }))['rights'], ['read', 'write', 'manage']);
      const cookie = await signIn(first);
      assert.equal((await send(port, '/private/', { headers: { cookie } })).status, 200);
      const challenge = (await send(port, '/private/')).headers['www-authenticate'];
      assert.match(challenge ?? '', /^Bearer realm="Holdall", Basic realm="Holdall"/);
    });

    const [cookie, ended] = [await signIn(first), await signIn(first)];
    await t.test('ends a session in all processes', async () => {
      assert.ok(await signedIn(first, ended));
      const { status } = await send(first.port, '/-/session', { method: 'DELETE', headers: { cookie: ended } });
      assert.equal(status, 200);
      for (let count = 0; count < 8; count++) assert.equal(await signedIn(first, ended), false);
    });

    await t.test('accepts an app token in all processes until a command revokes it, and logs only its ID', async () => {
      const created = jsonOf(await postJson(first.port, '/-/app-tokens', { name: 'Phone' }, byToken(laptop.token)));
      const { secret, token } = created as { secret: string; token: { id: string } };
      await untilAllResponse(first, byToken(secret), 200);
      const environment = { DISK_ROOT: first.root, ACCESS_FILE: file };
      const revoked = await runCli(['app-token', 'revoke', token.id], { environment });
      assert.equal(revoked.code, 0, revoked.stderr);
      await untilAllResponse(first, byToken(secret), 401);
      assert.ok(first.printed().includes(token.id));
      assert.ok(!first.printed().includes(secret));
    });

    first.signal('SIGTERM');
    await first.ended;
    const holdall = await startHoldall(t, { root: first.root, settings });
    await untilAllServe(holdall);
    await t.test('keeps a session ended after a restart, and other sessions valid', async () => {
      assert.equal(await signedIn(holdall, ended), false);
      assert.equal(await signedIn(holdall, cookie), true);
    });

    await t.test('applies a changed access file in all processes and ignores an invalid one', async () => {
      const { ann } = ACCESS.people;
      await untilAllResponse(holdall, { cookie }, 200);

      await replace(file, '{ "people": {}, "grants": [{ "folder": "/", "to": "nobody", "rights": ["read"] }] }');
      const warnings = () => holdall.log.filter(({ msg }) => String(msg).startsWith('Access file unusable'));
      await until('each process has logged it', () => warnings().length === 2);
      assert.match(JSON.stringify(warnings()[0]), /line 1, column \d+ \(grants\[0\]\.to\)/);
      await untilAllResponse(holdall, byToken(laptop.token), 200);

      // A new password ends the sessions, but not the tokens.
      await replace(file, { ...ACCESS, people: { ann: { ...ann, password: hashForTest('another') } } });
      await untilAllResponse(holdall, byToken(laptop.token), 200);
      await until('the session has ended', async () => !(await signedIn(holdall, cookie)));
      await replace(file, { ...ACCESS, people: { ann: { password: hash } } });
      await untilAllResponse(holdall, byToken(laptop.token), 401);
    });

    await t.test('ends the links and app tokens of a removed user, also for a later user of that name', async () => {
      await replace(file, ACCESS);
      await untilAllResponse(holdall, byToken(laptop.token), 200);
      const headers = { cookie: await signIn(holdall) };
      const created = async (path: string, body: object) => {
        const response = await postJson(holdall.port, path, body, headers);
        assert.equal(response.status, 200, response.body.toString());
        return jsonOf(response);
      };
      const { secret } = await created('/-/app-tokens', { name: 'Phone' });
      const { token } = await created('/-/links', { path: '' });
      const statuses = async () => [
        (await send(holdall.port, '/', { headers: byToken(String(secret)) })).status,
        (await send(holdall.port, `/-/s/${String(token)}/`)).status,
      ];
      assert.deepEqual(await statuses(), [200, 200]);
      await replace(file, { people: {}, grants: ACCESS.grants.slice(1) });
      await untilAllResponse(holdall, byToken(laptop.token), 401);
      await replace(file, ACCESS);
      await untilAllResponse(holdall, byToken(laptop.token), 200);
      assert.deepEqual(await statuses(), [401, 404]);
    });
  });

  it('refuses to start with an invalid access file and reports every mistake with its position', async (t) => {
    const file = await accessFile(
      t,
      '{\n  "people": { "ann": { "pasword": "x" } },\n  "grants": [{ "folder": "a//b" }]\n}',
    );
    const { code, stderr, stdout } = await runHoldall(t, { settings: { ACCESS_FILE: file } });
    assert.equal(code, 78);
    assert.equal(stdout, '');
    assert.match(stderr, /^holdall: .*access\.json has \d errors:\n {2}line 2, column \d+ \(people\.ann\.pasword\)/);
    assert.match(stderr, /line 3, column \d+ \(grants\[0\]\.folder\)/);
    assert.doesNotMatch(stderr, /\n\s+at /);
  });

  it('refuses to start without the access file', async (t) => {
    const file = await accessFile(t);
    const gone = await runHoldall(t, { settings: { ACCESS_FILE: join(file, 'gone.json') } });
    assert.match(gone.stderr, /^holdall: ACCESS_FILE .*gone\.json can't be read: .*\n$/);
  });

  it('exits with 78 when the state folder cannot store session revocations', async (t) => {
    const ACCESS_FILE = await accessFile(t);
    const taken = await temporaryFolder(t);
    await writeFile(join(taken, 'ended-sessions'), '');
    const SIGNING_KEY = 'k'.repeat(64);
    const refused: Record<string, string>[] = [
      { STATE_DIR: '/proc/nowhere/state' },
      { STATE_DIR: '/proc/nowhere/state', SIGNING_KEY },
      { STATE_DIR: taken, SIGNING_KEY },
    ];
    for (const settings of isFullForm ? refused : refused.slice(2)) {
      const { code, stderr } = await runHoldall(t, { settings: { ACCESS_FILE, ...settings } });
      assert.equal(code, 78);
      assert.match(
        stderr,
        new RegExp(
          `^holdall: The settings have an error:\n {2}STATE_DIR ${settings['STATE_DIR']} can't be used: .*\n$`,
        ),
      );
    }
  });

  it('refuses to start when its private files are in the served folder', async (t) => {
    const root = await temporaryFolder(t);
    await mkdir(join(root, 'a'));
    const settings = {
      DISK_ROOT: root,
      ACCESS_FILE: join(root, 'access.json'),
      STATE_DIR: join(root, 'a', 'state'),
      AUDIT_LOG: join(root, 'audit.log'),
      CACHE_DIR: root,
    };
    await writeFile(settings.ACCESS_FILE, JSON.stringify(ACCESS));
    const { code, stderr } = await runHoldall(t, { settings });
    assert.equal(code, 78);
    const [title, ...lines] = stderr.trimEnd().split('\n');
    assert.equal(title, 'holdall: The settings have 4 errors:');
    for (const name of ['ACCESS_FILE', 'STATE_DIR', 'AUDIT_LOG', 'CACHE_DIR'] as const) {
      const problem = lines.find((line) => line.startsWith(`  ${name} ${settings[name]} is inside DISK_ROOT, where `));
      assert.match(problem ?? '', new RegExp(`Choose a path outside ${root}\\. Example: ${name}=/`));
    }
    assert.deepEqual(await readdir(join(root, 'a')), []);
  });

  it('refuses to listen on a non-loopback address without an access file', async (t) => {
    const { code, stderr } = await runHoldall(t, { settings: { HOST: '0.0.0.0' } });
    assert.equal(code, 78);
    assert.match(stderr, /ACCESS_FILE is required, because other machines can reach HOST=0\.0\.0\.0/);
  });
});

async function signedIn({ port }: Holdall, cookie: string): Promise<boolean> {
  return jsonOf(await send(port, '/-/session', { headers: { cookie } }))['name'] !== null;
}
