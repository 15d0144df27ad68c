import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { createHmac } from 'node:crypto';
import { mkdir, rename, truncate, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { createToken, hashToken, verifyPassword } from '../../src/access/credentials.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertFailure, type HttpResponse, postJson, send, sendBytes } from '../http/client.ts';

const SECRET = 'what only Ann may read';
const PASSWORD = 'correct horse 🔋 battery';
const KEY = 'a key of the service that is long enough';

/** A service with Ann, who has all permissions, and Bob, who has none. */
interface Guarded {
  readonly port: number;
  /** Tokens of Ann and of Bob. */
  readonly token: string;
  readonly bobs: string;
  /** Returns the response to a request for Ann's file with these headers. */
  request(headers: Readonly<Record<string, string>>, path?: string): Promise<HttpResponse>;
  signIn(): Promise<string>;
  /** Replaces the access file. */
  change(people: Readonly<Record<string, object>>): Promise<void>;
}

it('accepts each credential only in its own scheme, for its own user and resource', async (t) => {
  const guarded = await serve(t, { SIGNING_KEY: KEY, TRUST_PROXY: 'loopback' });
  const { port, request, token, bobs, signIn, change } = guarded;
  const bearer = `Bearer ${token}`;
  assert.equal((await request({ authorization: bearer })).body.toString(), SECRET);

  await t.test('rejects an altered token and a token in the wrong header or scheme', async () => {
    assert.equal((await request({ authorization: `bearer  ${token} ` })).status, 200, 'The scheme has no case.');
    assert.equal(
      (await request({ authorization: basicOf('ann', token) })).status,
      200,
      'WebDAV clients know only Basic.',
    );
    for (const wrong of [
      ...alterations(token).map((altered) => `Bearer ${altered}`),
      `Basic ${token}`,
      `Token ${token}`,
      `Bearer${token}`,
      token,
      `Bearer "${token}"`,
      `Bearer ${token},${token}`,
      `${bearer}, ${bearer}`,
      `Bearer x, ${bearer}`,
      `Digest ${token}`,
      'Bearer',
      'Bearer ',
      `${bearer}\t${token}`,
      `Bearer ${hashToken(token)}`,
      `Bearer ${base64(token)}`,
      `Bearer ${'A'.repeat(12_000)}`,
      basicOf('bob', token),
    ])
      assertAnonymous(await request({ authorization: wrong }), wrong);
    for (const name of ['access_token', 'token', 'authorization', 'api_key', 'bearer', 'session', 'holdall']) {
      for (const value of [token, bearer]) {
        const query = `?${name}=${encodeURIComponent(value)}`;
        assertAnonymous(await request({}, `/file/secret.txt${query}`), query);
      }
    }
    for (const name of ['x-api-key', 'x-authorization', 'proxy-authorization', 'x-access-token']) {
      assertAnonymous(await request({ [name]: bearer }), name);
    }
    for (const name of ['x-forwarded-user', 'remote-user', 'x-remote-user'])
      assertAnonymous(await request({ [name]: 'ann' }), name);
    const [name] = (await signIn()).split('=');
    for (const cookie of [`${name}=${token}`, `token=${token}`, `authorization=${bearer}`])
      assertAnonymous(await request({ cookie }), cookie);
    const twice = await sendBytes(
      port,
      `GET /file/secret.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${bobs}\r\nAuthorization: ${bearer}\r\n\r\n`,
    );
    assert.ok(!twice.includes(SECRET), 'A second Authorization header is ignored.');
  });

  await t.test('rejects an altered session cookie and a session in the wrong header', async () => {
    const cookie = await signIn();
    const [sessionCookie = '', session = ''] = cookie.split('=');
    assert.equal((await request({ cookie })).status, 200);
    for (const altered of alterations(session))
      assertAnonymous(await request({ cookie: `${sessionCookie}=${altered}` }), altered);
    const names = [
      'holdall',
      `${sessionCookie}2`,
      sessionCookie.toUpperCase(),
      `__Host-${sessionCookie}`,
      sessionCookie.replace('holdall', 'holdall-sign-in'),
      ` ${sessionCookie}.`,
    ];
    const others = [
      ...names.map((name) => `${name}=${session}`),
      `${sessionCookie}="${session}"`,
      `${sessionCookie}=x; ${cookie}`,
    ];
    for (const other of others) assertAnonymous(await request({ cookie: other }), other);
    assertAnonymous(await request({ authorization: `Bearer ${session}` }), 'as a token');
    assertAnonymous(await request({}, `/file/secret.txt?${cookie}`), 'in the query');
    assert.equal((await request({ cookie: `${cookie}; ${cookie}` })).status, 200, 'The same cookie twice is valid.');
    assert.equal((await request({ cookie })).status, 200, 'The session remained valid.');
  });

  await t.test('uses the Authorization header when a session cookie of another user is also sent', async () => {
    const cookie = await signIn();
    assert.equal((await request({ authorization: `Bearer ${bobs}` })).status, 403);
    assert.equal(
      (await request({ authorization: `Bearer ${bobs}`, cookie })).status,
      403,
      'The Authorization header takes precedence.',
    );
    assertAnonymous(await request({ authorization: 'Bearer x', cookie }), 'An invalid one also takes precedence.');
  });

  await t.test('rejects a signed URL for another file, expiry or method', async () => {
    const { pathname, search, searchParams } = new URL(await signedUrl(guarded), 'http://service');
    const get = (path: string, query = search, method = 'GET') => send(port, `${path}${query}`, { method });
    assert.equal((await get(pathname)).status, 200);
    assert.equal((await get(pathname, search, 'HEAD')).status, 200);
    for (const method of ['PUT', 'POST', 'DELETE', 'PATCH'])
      assert.equal((await get(pathname, search, method)).status, 405);
    for (const path of ['/file/large.bin', '/thumb/large.bin', '/', '/file/secret.txt'])
      assertAnonymous(await get(path), path);
    for (const path of [
      'secret.txt',
      'other.bin',
      'LARGE.bin',
      'large.bin%20',
      'large.bin.',
      'folder/../large.bin',
      'folder/large.bin',
    ]) {
      const { status } = await get(`/-/signed/${path}`);
      assert.ok([400, 403].includes(status), `${path}: ${status}`);
    }
    const expires = Number(searchParams.get('expires'));
    const signature = searchParams.get('signature') ?? '';
    const times = [
      expires + 1,
      expires - 1,
      0,
      -1,
      9e15,
      `${expires}.0`,
      `0${expires}`,
      `${expires}e0`,
      `+${expires}`,
      `%20${expires}`,
      '',
    ];
    for (const query of [
      ...alterations(signature).map((altered) => `?expires=${expires}&signature=${altered}`),
      ...times.map((time) => `?expires=${time}&signature=${signature}`),
      `?expires=${expires}`,
      `?signature=${signature}`,
      '',
      '?',
      `?signature=${signature}&expires=${expires}`,
      `${search}&download=1`,
      `${search}&x=1`,
      `${search}&`,
      `?x=1&${search.slice(1)}`,
      `?${search}`,
      `${search}&expires=${expires + 1}`,
      `${search}&signature=${signature}`,
      search.toUpperCase(),
      search.replace('=', '%3d'),
    ])
      assert.equal((await get(pathname, query)).status, 403, query);
    assert.equal((await get(pathname)).status, 200, 'The session remained valid.');
  });

  await t.test('returns 403 for an expired signed URL', async () => {
    const urlOf = (expires: number) => {
      const signature = createHmac('sha256', KEY).update(`expires=${expires}\nlarge.bin`).digest('base64url');
      return `/-/signed/large.bin?expires=${expires}&signature=${signature}`;
    };
    const now = Math.floor(Date.now() / 1000);
    assert.equal((await send(port, urlOf(now + 600))).status, 200, 'It is signed as the service does.');
    for (const expires of [now - 1, now - 3600, 0]) assertFailure(await send(port, urlOf(expires)), 403, /has expired/);
  });

  await t.test('rejects sessions, tokens and signed URLs of another service', async (test) => {
    const other = await serve(test);
    const cookie = await signIn();
    assert.equal((await request({ cookie })).status, 200);
    const [name] = (await other.signIn()).split('=');
    for (const sent of [cookie, `${name}=${cookie.split('=')[1]}`])
      assertAnonymous(await other.request({ cookie: sent }), 'a session');
    assertAnonymous(await other.request({ authorization: bearer }), 'a token');
    assert.equal((await send(other.port, await signedUrl(guarded))).status, 403, 'a signed URL');
  });

  await t.test('rejects a replayed session cookie after sign-out and keeps other sessions valid', async () => {
    const [cookie, kept] = [await signIn(), await signIn()];
    assert.equal((await request({ cookie })).status, 200);
    assert.equal((await send(port, '/-/session', { method: 'DELETE', headers: { cookie } })).status, 200);
    for (let again = 0; again < 3; again++) assertAnonymous(await request({ cookie }), 'replayed');
    assert.equal((await request({ cookie: kept })).status, 200, 'Another address is not throttled.');
  });

  await t.test('does not reveal whether a username exists when the password is wrong', async () => {
    const responses = { form: [] as unknown[], basic: [] as unknown[] };
    let attempts = 0;
    // An unknown name costs a hash of the default cost, so not each of them is sent in both ways.
    for (const [way, name] of [
      ['form', 'ann'],
      ['form', 'bob'],
      ['form', '__proto__'],
      ['basic', 'ann'],
      ['basic', 'nobody'],
    ] as const) {
      // Attempts are counted by addresses too.
      const from = { 'x-forwarded-for': `127.0.1.${++attempts}` };
      const { status, headers, body } = await (way === 'form'
        ? postJson(port, '/-/session', { name, password: 'wrong' }, from)
        : request({ authorization: basicOf(name, 'wrong'), ...from }));
      responses[way].push([status, Object.keys(headers).toSorted(), body.toString()]);
    }
    for (const same of Object.values(responses)) for (const response of same) assert.deepEqual(response, same[0]);
    assert.match(JSON.stringify(responses.form[0]), /^\[401,.*Wrong username or password\./);
    assert.match(JSON.stringify(responses.basic[0]), /^\[401,/);
  });

  await t.test('permanently revokes credentials within seconds after the access file is replaced', async () => {
    const credentials = {
      token: { authorization: bearer },
      password: { authorization: basicOf('ann', PASSWORD) },
      session: { cookie: await signIn() },
    };
    const untilRefused = (what: string, headers: Readonly<Record<string, string>>) =>
      until(`${what} is refused`, async () => (await request(headers)).status === 401);
    const ann = annWith(token);
    for (const way of Object.values(credentials)) assert.equal((await request(way)).status, 200);

    const later = hashForTest('another one');
    await change({ ann: { ...ann, password: later } });
    await untilRefused('the session of another password', credentials.session);
    assertAnonymous(await request(credentials.password), 'the old password');
    assert.equal((await request(credentials.token)).status, 200, 'The token is as it was.');

    await change({ ann: { ...ann, tokens: [] } });
    await untilRefused('the token', credentials.token);
    assert.equal((await request(credentials.password)).status, 200, 'The first password is valid again.');
    const next = { cookie: await signIn() };
    assert.equal((await request(next)).status, 200);

    await change({ bob: { tokens: [{ name: 'bob', hash: hashToken(bobs) }] } });
    await untilRefused('the session of a removed user', next);
    for (const [name, way] of Object.entries(credentials)) assertAnonymous(await request(way), name);
    // The user is created again with another password. Nothing from before is valid.
    await change({ ann: { password: later } });
    const again = { authorization: basicOf('ann', 'another one'), 'x-forwarded-for': '127.0.2.1' };
    await until('Ann can sign in again', async () => (await request(again)).status === 200);
    for (const old of [next, ...Object.values(credentials)])
      assertAnonymous(await request(old), 'an earlier credential');
  });
});

it('computes a password hash for unknown usernames too, to prevent timing attacks', async () => {
  const hashing: string[] = [];
  const hook = createHook({ init: (_id, type) => void (type === 'SCRYPTREQUEST' && hashing.push(type)) }).enable();
  try {
    assert.equal(await verifyPassword('wrong', undefined), false);
    assert.equal(hashing.length, 1);
    assert.equal(await verifyPassword('wrong', annsHash), false);
    assert.equal(hashing.length, 2);
  } finally {
    hook.disable();
  }
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const basicOf = (name: string, password: string) => `Basic ${base64(`${name}:${password}`)}`;

/**
 * Returns variants of a text: with some characters altered, truncated, extended and encoded
 * in other ways.
 */
function alterations(text: string): string[] {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const isFlipped = (position: number) => position % 12 === 0 || position >= text.length - 2;
  const flipped = Array.from(text, (character, position) => {
    if (!isFlipped(position)) return text;
    const index = alphabet.indexOf(character);
    // The altered character differs in the last bit. At the end of a text, that bit can be unused.
    return text.slice(0, position) + (index === -1 ? 'A' : alphabet[index ^ 1]) + text.slice(position + 1);
  });
  const half = text.length >> 1;
  const written = [
    encodeURIComponent(text).replace(/.$/, (last) => `%${last.charCodeAt(0).toString(16)}`),
    `${text}=`,
    `${text}==`,
  ];
  return [
    ...flipped,
    text.slice(0, -1),
    text.slice(1),
    text.slice(0, half),
    text.slice(half),
    `${text}A`,
    `A${text}`,
    `${text}%00`,
    text + text,
    text.toLowerCase(),
    text.toUpperCase(),
    text.replaceAll(/[-_]/g, (sign) => (sign === '-' ? '+' : '/')),
    ...written,
  ].filter((altered) => altered !== text);
}

/** Asserts that the response is that for an anonymous user. */
function assertAnonymous({ status, body }: HttpResponse, what: string): void {
  assert.ok(status === 401, `${what.slice(0, 300)}: ${status} ${body.toString()}`);
  assert.ok(!body.includes(SECRET), what);
}

const annsHash = hashForTest(PASSWORD);

function annWith(token: string) {
  return { password: annsHash, tokens: [{ name: 'laptop', hash: hashToken(token) }] };
}

/** Returns the path and query of the signed URL of a large file. */
async function signedUrl({ request, token }: Guarded): Promise<string> {
  const { status, headers } = await request({ authorization: `Bearer ${token}` }, '/file/large.bin');
  assert.equal(status, 302);
  const { pathname, search } = new URL(headers.location ?? '', 'http://service/file/large.bin');
  return pathname + search;
}

async function serve(t: TestContext, settings: Readonly<Record<string, string>> = {}): Promise<Guarded> {
  const base = await temporaryFolder(t);
  const [root, file] = [join(base, 'root'), join(base, 'access.json')];
  await mkdir(join(root, 'folder'), { recursive: true });
  await writeFile(join(root, 'secret.txt'), SECRET);
  for (const name of ['large.bin', 'other.bin', 'folder/large.bin']) {
    await writeFile(join(root, name), '');
    await truncate(join(root, name), 6 * 1024 * 1024);
  }
  const [anns, bobs] = [createToken(), createToken()];
  const change = async (people: Readonly<Record<string, object>>) => {
    const rights = ['read', 'write', 'manage'];
    const grants = 'ann' in people ? [{ folder: '/', to: { person: 'ann' }, rights }] : [];
    await writeFile(`${file}.new`, JSON.stringify({ people, grants }));
    await rename(`${file}.new`, file);
  };
  await change({ ann: annWith(anns.token), bob: { tokens: [{ name: 'bob', hash: bobs.hash }] } });
  const { port } = await startInProcess(t, { root, settings: { ACCESS_FILE: file, RATE_LIMIT: '0', ...settings } });
  const agent = new Agent({ keepAlive: true });
  atEnd(t, () => agent.destroy());
  return {
    port,
    token: anns.token,
    bobs: bobs.token,
    request: (headers, path = '/file/secret.txt') => send(port, path, { headers, agent }),
    async signIn() {
      const response = await postJson(port, '/-/session', { name: 'ann', password: PASSWORD });
      assert.equal(response.status, 200, response.body.toString());
      return /^[^;]*/.exec(response.headers['set-cookie']?.[0] ?? '')?.[0] ?? '';
    },
    change,
  };
}
