import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { createJwtCheck } from '../../../src/http/access/jwt.ts';
import { createProvider } from '../../../src/http/access/provider.ts';
import { problemOf } from '../../../src/http/errors.ts';

const DISCOVERY = '/.well-known/openid-configuration';
const PUBLIC_URL = 'https://files.example.org';

type Respond = (response: ServerResponse) => void;

const reply =
  (status: number, headers: Record<string, string | string[]>, body: string | Buffer = ''): Respond =>
  (response) =>
    void response.writeHead(status, headers).end(body);

const json = (value: unknown, status = 200, headers: Record<string, string> = {}) =>
  reply(status, { 'content-type': 'application/json', ...headers }, JSON.stringify(value));

const TYPE = { 'content-type': 'application/json' };
const MIB = 2 ** 20;

/** Responses of a broken or hostile server to any request, with the `Retry-After` that clients must receive. */
const BROKEN: readonly (readonly [string, Respond, retryAfter?: number])[] = [
  ['304 with a JSON type', reply(304, { ...TYPE, etag: '"a"' })],
  ['204 with a JSON type', reply(204, TYPE)],
  ['205 with a JSON type', reply(205, TYPE)],
  ['an empty body', reply(200, TYPE)],
  ['truncated JSON', reply(200, TYPE, '{"issuer": "ht')],
  ['null', json(null)],
  ['a list', json([])],
  ['an empty object', json({})],
  ['a web page', reply(200, { 'content-type': 'text/html' }, '<!DOCTYPE html>')],
  ['broken gzip', reply(200, { ...TYPE, 'content-encoding': 'gzip' }, 'no gzip')],
  ['a gzip bomb', reply(200, { ...TYPE, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(8 * MIB, ' ')))],
  ['a large body', reply(200, TYPE, `{"a":"${'a'.repeat(2 * MIB)}"}`)],
  ['a redirect', reply(302, { location: '/elsewhere' })],
  ['a redirect to itself', reply(307, { location: '' })],
  ['a status above 599', reply(799, TYPE, '{}')],
  ['407', reply(407, { 'proxy-authenticate': 'Basic realm="proxy"' }, 'no')],
  ['403 with HTML', reply(403, { 'content-type': 'text/html' }, '<h1>Blocked</h1>')],
  ['500 with a JSON error that is a number', json({ error: 7 }, 500)],
  ['503 with Retry-After in seconds', json({}, 503, { 'retry-after': '120' }), 120],
  ['429 with Retry-After as a date', json({}, 429, dated(90)), 90],
  ['503 with a Retry-After that is far', json({}, 503, { 'retry-after': '9'.repeat(30) }), 3600],
  ['503 with an invalid Retry-After', json({}, 503, { 'retry-after': 'soon' })],
  ['503 with Retry-After: 0', json({}, 503, { 'retry-after': '0' }), 1],
  ['a body that breaks off', (response) => void response.writeHead(200, TYPE).write('{', () => response.destroy())],
  ['a connection that breaks off', (response) => void response.destroy()],
];

const HANGING: typeof BROKEN = [
  ['a body that never ends', (response) => void response.writeHead(200, TYPE).write('{')],
  ['no response', () => {}],
];

/** Returns headers with a date that is this number of seconds after the date of the same response. */
function dated(seconds: number) {
  return { date: new Date(0).toUTCString(), 'retry-after': new Date(seconds * 1000).toUTCString() };
}

/** A server with responses by path. */
async function startHost() {
  const responses = new Map<string, Respond>();
  const server = createServer((request, response) => {
    const respond = responses.get(new URL(request.url ?? '', 'http://host').pathname) ?? reply(404, {});
    respond(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    responses,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

let host: Awaited<ReturnType<typeof startHost>>;
let keys: Awaited<ReturnType<typeof generateKeyPair>>;
let keySet: { readonly keys: readonly object[] };
before(async () => {
  host = await startHost();
  keys = await generateKeyPair('RS256', { extractable: true });
  keySet = { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'k', alg: 'RS256' }] };
});
after(() => host.stop());

const sign = (claims: JWTPayload) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k' }).sign(keys.privateKey);

const metadata = (more: Record<string, unknown> = {}) => ({
  issuer: host.issuer,
  authorization_endpoint: `${host.issuer}/authorize`,
  token_endpoint: `${host.issuer}/token`,
  userinfo_endpoint: `${host.issuer}/me`,
  jwks_uri: `${host.issuer}/jwks`,
  ...more,
});

/** Asserts that a request ends with 503, and with this `Retry-After`. */
async function assertUnavailable(request: Promise<unknown>, retryAfter = 1): Promise<void> {
  await assert.rejects(request, (error) => {
    const problem = problemOf(error, 'id');
    assert.equal(problem.status, 503, `${problem.message} ${String(error)}`);
    assert.equal(problem.retryAfter, retryAfter);
    return true;
  });
}

const open = (options: { readonly timeout?: number } = {}) =>
  createProvider({
    ...options,
    issuer: host.issuer,
    clientId: 'holdall',
    clientSecret: 'secret',
    scope: 'openid',
    nameClaim: 'sub',
    groupsClaim: 'groups',
    publicUrl: PUBLIC_URL,
    warn: () => {},
  });

describe('A broken identity provider', () => {
  for (const [name, respond, retryAfter] of BROKEN) {
    it(`makes the start of a sign-in unavailable: ${name}`, async () => {
      host.responses.set(DISCOVERY, respond);
      await assertUnavailable(open().begin(), retryAfter);
    });
  }

  for (const [name, respond] of HANGING) {
    it(`makes the start of a sign-in unavailable: ${name}`, async () => {
      host.responses.set(DISCOVERY, respond);
      await assertUnavailable(open({ timeout: 0.1 }).begin());
    });
  }

  it('is requested again after an unusable discovery document', async () => {
    const provider = open();
    for (const wrong of [
      { authorization_endpoint: undefined },
      { authorization_endpoint: 7 },
      { authorization_endpoint: '' },
      { authorization_endpoint: 'javascript:alert(1)' },
      { authorization_endpoint: '//' },
      { token_endpoint: undefined },
      { token_endpoint: 'ftp://127.0.0.1/' },
      { jwks_uri: undefined },
      { jwks_uri: ['x'] },
      { issuer: 'https://evil.example.org' },
      { issuer: 'no URL' },
    ]) {
      host.responses.set(DISCOVERY, json(metadata(wrong)));
      await assertUnavailable(provider.begin());
      await assertUnavailable(provider.finish('?code=x&state=s', { state: 's', nonce: 'n', verifier: 'v'.repeat(43) }));
    }
    host.responses.set(DISCOVERY, json(metadata()));
    assert.equal((await provider.begin()).url.origin, host.issuer);
  });

  /** Begins a sign-in at a provider that works so far. */
  const signIn = async (change: (claims: JWTPayload) => JWTPayload = (claims) => claims) => {
    host.responses.set(DISCOVERY, json(metadata()));
    const provider = open();
    const { pending } = await provider.begin();
    const { nonce, state } = pending;
    const now = Math.floor(Date.now() / 1000);
    const claims = change({ iss: host.issuer, aud: 'holdall', sub: 'ann', iat: now, exp: now + 60, nonce });
    const idToken = await sign(claims);
    host.responses.set('/token', json({ access_token: 'a', token_type: 'Bearer', id_token: idToken }));
    host.responses.set('/jwks', json(keySet));
    host.responses.set('/me', json({ sub: 'ann', groups: ['ops'] }));
    return () => provider.finish(`?code=x&state=${state}`, pending);
  };

  it('signs users in as soon as it works', async () => {
    assert.deepEqual(await (await signIn())(), { name: 'ann', groups: ['ops'] });
  });

  for (const path of ['/token', '/jwks', '/me']) {
    for (const [name, respond, retryAfter] of BROKEN) {
      it(`makes the end of a sign-in unavailable: ${path}, ${name}`, async () => {
        const finish = await signIn();
        host.responses.set(path, respond);
        await assertUnavailable(finish(), retryAfter);
      });
    }
  }

  it('makes the end of a sign-in unavailable: invalid tokens', async () => {
    for (const tokens of [
      { access_token: 7, token_type: 'Bearer', id_token: 'a.b.c' },
      { access_token: 'a', token_type: 'Bearer' },
      { access_token: 'a', token_type: 'mac', id_token: 'a.b.c' },
      { access_token: 'a', token_type: 'Bearer', id_token: 'a.b.c' },
      { access_token: 'a', token_type: 'Bearer', id_token: 'e30.e30.e30' },
      { access_token: 'a', token_type: 'Bearer', id_token: ['a'] },
    ]) {
      const finish = await signIn();
      host.responses.set('/token', json(tokens));
      await assertUnavailable(finish());
    }
  });
});

describe('A broken token issuer', () => {
  const settings = (jwksUrl: string | undefined) => ({
    issuer: host.issuer,
    audience: 'holdall',
    jwksUrl,
    nameClaim: 'sub',
    groupsClaim: 'groups',
  });
  const token = () => sign({ iss: host.issuer, aud: 'holdall', sub: 'ann', exp: Math.floor(Date.now() / 1000) + 60 });
  const check = (path: string, options: { readonly timeout?: number } = {}) =>
    createJwtCheck(settings(path === DISCOVERY ? undefined : `${host.issuer}/jwks`), options);

  for (const path of [DISCOVERY, '/jwks']) {
    for (const [name, respond, retryAfter] of BROKEN) {
      it(`makes a check unavailable: ${path}, ${name}`, async () => {
        host.responses.set(path, respond);
        await assertUnavailable(check(path)(await token()), retryAfter);
      });
    }
    for (const [name, respond] of HANGING) {
      it(`makes a check unavailable: ${path}, ${name}`, async () => {
        host.responses.set(path, respond);
        await assertUnavailable(check(path, { timeout: 100 })(await token()));
      });
    }
  }

  it('makes a check unavailable: invalid keys', async () => {
    const [good] = keySet.keys;
    for (const wrong of [
      { keys: [null] },
      { keys: [{ ...good, n: undefined }] },
      { keys: [{ ...good, n: 7 }] },
      // An RSA key of 24 bits.
      { keys: [{ ...good, n: 'AQAB' }] },
      { keys: [{ ...good, d: 'AQAB' }] },
    ]) {
      host.responses.set('/jwks', json(wrong));
      await assertUnavailable(check('/jwks')(await token()));
    }
  });
});
