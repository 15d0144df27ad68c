import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, mock } from 'node:test';
import { createSessionRevocations } from '../../../src/access/session-revocations.ts';
import { createSeal } from '../../../src/access/sessions.ts';
import { hashForTest } from '../../../testing/passwords.ts';
import { until } from '../../../testing/until.ts';
import { assertFailure, assertSuccess, type HttpResponse, jsonOf, postJson, send } from '../client.ts';
import { createBrowser, sessionCookieOf } from './browser.ts';
import { person, type SignedInService, startSignedInService } from './signed-in-service.ts';

const PASSWORD = hashForTest('secret');
const ANN = person('ann', { password: PASSWORD });
const KEY = randomBytes(32);

/** The name of the session cookie of services with the key. */
let NAME: string;

let folder: string;
let service: SignedInService;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdall-test-sessions-'));
  service = await startSignedInService({ people: [ANN], key: KEY, endedSessionsFolder: folder });
  NAME = service.authenticators.sessionCookie;
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Returns the cookie value of a new session of Ann. */
async function begin({ port } = service): Promise<string> {
  const response = await postJson(port, '/-/session', { name: 'ann', password: 'secret' });
  assertSuccess(response, { message: 'Signed in.', name: 'ann' });
  return sessionCookieOf(response).slice(NAME.length + 1);
}

/** Requests the root with a cookie, or with a raw `Cookie` header. */
const request = (cookie: string, { port } = service) =>
  send(port, '/', { headers: { cookie: cookie.includes('=') ? cookie : `${NAME}=${cookie}` } });

/** Asserts that the response is that for an anonymous user, and deletes the cookie. */
function assertSignedOut(response: HttpResponse, what = ''): void {
  assert.equal(response.status, 401, what);
  assertFailure(response, 401, 'Sign in to read the root.');
  assert.deepEqual(response.headers['set-cookie'], [`${NAME}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`], what);
}

describe('A session', () => {
  it('has an opaque token, which differs each time', async () => {
    const [one, other] = [await begin(), await begin()];
    assert.notEqual(one, other);
    const parts = one.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
    assert.deepEqual(JSON.parse(parts[0] ?? ''), { alg: 'dir', enc: 'A256GCM' });
    assert.doesNotMatch(parts.slice(1).join(), /ann/);
    assert.equal((await request(one)).status, 200);
  });

  it('is invalid if any character of its token is altered, removed or added', async () => {
    const cookie = await begin();
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let position = 0; position < cookie.length; position++) {
      const character = cookie[position] ?? '';
      // The altered character differs in the last bit. At the end of a part, that bit can be unused.
      const index = alphabet.indexOf(character);
      const next = index === -1 ? 'A' : alphabet[index ^ 1];
      const altered = cookie.slice(0, position) + next + cookie.slice(position + 1);
      assertSignedOut(await request(altered), `${position} of ${cookie}`);
    }
    for (const altered of [cookie.slice(0, -1), `${cookie}A`, `${cookie}.`, `.${cookie}`, cookie.toLowerCase()]) {
      assertSignedOut(await request(altered), altered);
    }
    assert.equal((await request(cookie)).status, 200);
  });

  it('is invalid in a cookie of any other form', async () => {
    const cookie = await begin();
    const header = (claims: object) => Buffer.from(JSON.stringify(claims)).toString('base64url');
    const [, , vector = '', content = '', tag = ''] = cookie.split('.');
    const odd = [
      `${NAME}=`,
      `${NAME}=x`,
      `${NAME}="${cookie}"`,
      `${NAME}=${'A'.repeat(12_000)}`,
      `${NAME}=${'.'.repeat(5000)}`,
      `${NAME}=%00%ff`,
      `${NAME}=${header({ alg: 'none' })}.${header({ name: 'ann' })}.`,
      `${NAME}=${header({ alg: 'dir', enc: 'A128GCM' })}..${vector}.${content}.${tag}`,
      `${NAME}=${header({ alg: 'PBES2-HS256+A128KW', enc: 'A256GCM', p2c: 2 ** 30, p2s: 'AAAA' })}.AAAA.${vector}.${content}.${tag}`,
      `${NAME}=${header({ alg: 'dir', enc: 'A256GCM', zip: 'DEF' })}..${vector}.${content}.${tag}`,
    ];
    for (const text of odd) assertSignedOut(await request(text), text.slice(0, 200));
    for (const text of [`x=1;${NAME}=${cookie};y=2`, `${NAME}2=z; ${NAME}=${cookie} ; x${NAME}=x`]) {
      assert.equal((await request(text)).status, 200, text);
    }
  });

  it('is ignored next to another cookie of that name, but not cleared', async () => {
    const [cookie, other] = [await begin(), await begin()];
    for (const text of [
      `${NAME}=${cookie}; ${NAME}=${other}`,
      `${NAME}=${cookie}; ${NAME}=x`,
      `${NAME}=x; ${NAME}=${cookie}`,
      `${NAME}=; ${NAME}=${cookie}`,
    ]) {
      const response = await request(text);
      assertFailure(response, 401, 'Sign in to read the root.');
      assert.equal(response.headers['set-cookie'], undefined, text);
    }
    assert.equal((await request(cookie)).status, 200);
  });

  it('is revoked by signing out, even next to other cookies of that name', async () => {
    const [cookie, other, beyond] = [await begin(), await begin(), await begin()];
    assertSuccess(await signOut(`x; ${NAME}=${cookie}; ${NAME}=${other}; ${NAME}=${'A'.repeat(5000)}`), {
      message: 'Signed out.',
    });
    assertSignedOut(await request(cookie));
    assertSignedOut(await request(other));
    assert.equal((await request(beyond)).status, 200);
  });

  it('is revoked by signing out, even while it is invalid', async () => {
    const [cookie, other] = [await begin(), await begin()];
    service.change([person('ann', { password: hashForTest('another') })]);
    assertSignedOut(await request(cookie));
    assertSuccess(await signOut(cookie), { message: 'Signed out.' });
    service.change([ANN]);
    assertSignedOut(await request(cookie));
    // The session is valid again with the same entry.
    assert.equal((await request(other)).status, 200);
  });

  it('is invalid if it was sealed with another key or for another purpose', async () => {
    const other = await startSignedInService({ people: [ANN] });
    try {
      assertSignedOut(await request(await begin(other)));
    } finally {
      await other.stop();
    }
    const seal = createSeal(KEY, 'session');
    const claims = (await seal.open(await begin())) ?? assert.fail('The cookie is not sealed.');
    const later = new Date(Date.now() + 60_000);
    assert.equal((await request(await seal.close(claims, later))).status, 200);
    assertSignedOut(await request(await createSeal(KEY, 'sign-in').close(claims, later)));
    for (const odd of [
      { name: 'ann' },
      { ...claims, groups: 'all' },
      { ...claims, by: 'x' },
      { ...claims, entry: 'x' },
    ]) {
      assertSignedOut(await request(await seal.close(odd, later)));
    }
  });

  it('expires at its time, and not before', async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.now() });
    try {
      const cookie = await begin();
      const known = await begin();
      assert.equal((await request(known)).status, 200);
      mock.timers.setTime(Date.now() + 3_599_000 - (Date.now() % 1000));
      assert.equal((await request(known)).status, 200);
      mock.timers.setTime(Date.now() + 1000);
      assertSignedOut(await request(known), 'one that was read before');
      assertSignedOut(await request(cookie), 'one that was not');
    } finally {
      mock.timers.reset();
    }
  });

  it('ends when its user is removed, added, or gets another password', async () => {
    const cookie = await begin();
    for (const people of [
      [person('ann', { password: hashForTest('secret') })],
      [person('ann')],
      [person('Ann', { password: PASSWORD })],
      [],
    ]) {
      service.change(people);
      assertSignedOut(await request(cookie), JSON.stringify(people));
    }
    // A change of other fields does not end the session.
    service.change([person('ann', { password: PASSWORD, groups: ['family'] })]);
    assert.equal((await request(cookie)).status, 200);
    service.change([ANN]);
  });

  it('is revoked by signing out for all copies of the cookie, while other sessions continue', async () => {
    const [cookie, other] = [await begin(), await begin()];
    const known = service.events.length;
    const response = await signOut(cookie);
    assertSuccess(response, { message: 'Signed out.' });
    assert.deepEqual(response.headers['set-cookie'], [`${NAME}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`]);
    assertSignedOut(await request(cookie));
    assert.equal((await request(other)).status, 200);
    assertSuccess(await signOut(cookie), { message: 'Signed out.' });
    assertSuccess(await send(service.port, '/-/session', { method: 'DELETE' }), { message: 'Signed out.' });
    const events = service.events.slice(known).filter(({ event }) => event === 'sign-out');
    assert.deepEqual(
      events.map(({ name, outcome }) => ({ name, outcome })),
      [{ name: 'ann', outcome: 'done' }],
    );
  });

  it('can be ended by POST, with any body', async () => {
    const cookie = await begin();
    const headers = { cookie: `${NAME}=${cookie}`, 'content-type': 'application/json' };
    const response = await send(service.port, '/-/session/end', { method: 'POST', headers, body: '{' });
    assertSuccess(response, { message: 'Signed out.' });
    assertSignedOut(await request(cookie));
  });

  it('ends when another session replaces it', async () => {
    const cookie = await begin();
    const headers = { cookie: `${NAME}=${cookie}` };
    const response = await postJson(service.port, '/-/session', { name: 'ann', password: 'secret' }, headers);
    assert.equal(response.status, 200);
    assertSignedOut(await request(cookie));
  });

  it('remains revoked in every process that shares the folder, and after a restart', async () => {
    const cookie = await begin();
    const options = { people: [ANN], key: KEY, endedSessionsFolder: folder };
    const other = await startSignedInService(options);
    try {
      assert.equal((await request(cookie, other)).status, 200);
      await signOut(cookie);
      assertSignedOut(await request(cookie, other));
    } finally {
      await other.stop();
    }
    const restarted = await startSignedInService(options);
    try {
      assertSignedOut(await request(cookie, restarted));
      assert.equal((await request(await begin(), restarted)).status, 200);
    } finally {
      await restarted.stop();
    }
  });

  it('is ignored if the request has Authorization', async () => {
    const cookie = await begin();
    const headers = { cookie: `${NAME}=${cookie}`, authorization: 'Bearer x' };
    assertFailure(await send(service.port, '/', { headers }), 401, /Invalid or revoked token/);
  });
});

describe('Two services on one host', () => {
  it('keep each other signed in, because browsers send the cookies of all ports', async () => {
    const browser = createBrowser();
    const other = await startSignedInService({ people: [ANN] });
    const nameAt = async ({ port }: SignedInService) => jsonOf(await browser.send(port, '/-/session'))['name'];
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ name: 'ann', password: 'secret' });
    try {
      for (const { port } of [service, other])
        assert.equal((await browser.send(port, '/-/session', { method: 'POST', headers, body })).status, 200);
      assert.deepEqual([await nameAt(service), await nameAt(other)], ['ann', 'ann']);
      await browser.send(other.port, '/-/session', { method: 'DELETE' });
      assert.deepEqual([await nameAt(service), await nameAt(other)], ['ann', null]);
    } finally {
      await other.stop();
    }
  });
});

describe('The folder of revoked sessions', () => {
  it('makes signing out fail with 503 if it is not writable, because the session remains valid', async () => {
    const place = await mkdtemp(join(tmpdir(), 'holdall-test-ended-'));
    // The folder does not exist and can't be created.
    const endedSessionsFolder = join(place, 'link');
    await symlink(join(place, 'missing', 'missing'), endedSessionsFolder);
    const failing = await startSignedInService({ people: [ANN], key: KEY, endedSessionsFolder });
    try {
      const headers = { cookie: `${NAME}=${await begin(failing)}` };
      const response = await send(failing.port, '/-/session', { method: 'DELETE', headers });
      assertFailure(response, 503, /^The session could not be revoked everywhere: the revocation could not be stored/);
      assert.match(response.headers['retry-after'] ?? '', /^\d+$/);
      assert.equal(failing.events.filter(({ event }) => event === 'sign-out').length, 0);
    } finally {
      await failing.stop();
      await rm(place, { recursive: true, force: true });
    }
  });

  it('and Redis are both written to, even if one of them fails', async () => {
    const place = await mkdtemp(join(tmpdir(), 'holdall-test-ended-'));
    const keys: unknown[] = [];
    const soon = new Date(Date.now() + 60_000);
    const notEnded = { kind: 'unavailable', message: /^The session could not be revoked everywhere/ };
    const open = (at: string, set: () => Promise<'OK'>) =>
      createSessionRevocations({ folder: at, redis: { set, exists: async () => 0 }, warn: () => {} });
    try {
      await writeFile(join(place, 'file'), '');
      const withoutFolder = open(join(place, 'file'), async (...what: unknown[]) => {
        keys.push(what[0]);
        return 'OK';
      });
      await assert.rejects(withoutFolder.add('a', soon), notEnded);
      assert.match(String(keys), /^holdall:ended:[0-9a-f]{64}$/);
      await withoutFolder.close();
      const withoutRedis = open(join(place, 'folder'), () => Promise.reject(new Error('Redis is away.')));
      await assert.rejects(withoutRedis.add('b', soon), notEnded);
      assert.equal(await withoutRedis.has('b'), true);
      await withoutRedis.close();
    } finally {
      await rm(place, { recursive: true, force: true });
    }
  });

  it('loses only the files of sessions that expired long ago', async () => {
    const place = await mkdtemp(join(tmpdir(), 'holdall-test-ended-'));
    const warnings: string[] = [];
    const open = () =>
      createSessionRevocations({ folder: place, redis: undefined, warn: (message) => void warnings.push(message) });
    try {
      const ended = open();
      await ended.add('old', new Date(Date.now() - 7_200_000));
      await ended.add('fresh', new Date(Date.now() + 3_600_000));
      await ended.close();
      const [name = ''] = await readdir(place);
      assert.match(name, /^[0-9a-f]{64}$/);
      const note = join(place, 'note.txt');
      await writeFile(note, '');
      await utimes(note, 0, 0);
      const again = open();
      await until('the old one is gone', async () => !(await again.has('old')));
      assert.equal(await again.has('fresh'), true);
      await again.close();
      assert.equal((await readdir(place)).includes('note.txt'), true);
      assert.deepEqual(warnings, []);
    } finally {
      await rm(place, { recursive: true, force: true });
    }
  });
});

function signOut(cookie: string): Promise<HttpResponse> {
  return send(service.port, '/-/session', { method: 'DELETE', headers: { cookie: `${NAME}=${cookie}` } });
}
