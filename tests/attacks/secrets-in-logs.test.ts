import assert from 'node:assert/strict';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { Redis } from 'ioredis';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createToken } from '../../src/access/credentials.ts';
import { atEnd, type Holdall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import { startIdentityProvider } from '../../testing/servers/identity-provider.ts';
import { startKeyServer } from '../../testing/servers/key-server.ts';
import { startRedis } from '../../testing/servers/redis.ts';
import { until } from '../../testing/until.ts';
import { type HttpResponse, postJson, send } from '../http/client.ts';
import { createBrowser, sessionCookieIn } from '../http/sign-in/browser.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['redis'];

const KEY = 'signing-key-of-the-service, with spaces & signs';
const REDIS_PASSWORD = 'password-of-redis%2B';
const CLIENT_SECRET = 'secret+of%2Fthe/client';
const RIGHT = 'right:password/of+ann?';
const WRONG = 'wrong:password/of+ann?';
const AS_NAME = 'password&typed as a name';
const IN_URL = 'password-in-a-url';

it('prints no secret at any log level', async (t) => {
  const secrets = new Map<string, string>();
  const keep = (what: string, secret: string): string => {
    assert.ok(secret.length >= 12, `${what} exists.`);
    secrets.set(what, secret);
    return secret;
  };
  keep('SIGNING_KEY', KEY);
  keep('the password of REDIS_URL', REDIS_PASSWORD);
  keep('the password', RIGHT);
  keep('a wrong password', WRONG);
  keep('a password that was typed as a name', AS_NAME);
  keep('a password in a URL', IN_URL);
  const [good, expired, unknown] = [createToken(), createToken(), createToken()];
  for (const [what, { token, hash }] of Object.entries({ good, expired, unknown })) {
    keep(`the ${what} token`, token);
    keep(`the hash of the ${what} token`, hash.slice('sha256:'.length));
  }
  const passwordHash = hashForTest(RIGHT);
  keep('the hash of the password', passwordHash.slice(passwordHash.lastIndexOf(':') + 1));
  const tokens = [
    { name: 'good', hash: good.hash },
    { name: 'expired', hash: expired.hash, expires: '2020-01-01T00:00:00Z' },
  ];
  const people = { ann: { password: passwordHash, tokens } };

  const [redis, issuer, port] = [await protectedRedis(t), await startIssuer(t), await findFreePort()];
  const publicUrl = `http://127.0.0.1:${port}`;
  const provider = await startIdentityProvider({
    redirectUri: `${publicUrl}/-/sign-in/callback`,
    clientSecret: CLIENT_SECRET,
  });
  atEnd(t, () => provider.stop());
  keep('OIDC_CLIENT_SECRET', CLIENT_SECRET);
  const holdall = await startHoldall(t, {
    root: await plantedRoot(t),
    settings: {
      LOG_LEVEL: 'trace',
      AUDIT_LOG: 'stdout',
      PORT: String(port),
      PUBLIC_URL: publicUrl,
      SIGNING_KEY: KEY,
      ACCESS_FILE: await accessFile(t, people),
      REDIS_URL: redis.url,
      SESSION_LIFETIME: '600',
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: provider.client.clientId,
      OIDC_NAME_CLAIM: 'sub',
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
      JWT_ISSUER: issuer.url,
      JWT_AUDIENCE: 'holdall',
    },
  });
  await until('Redis is reached', () => holdall.printed().includes('Redis connected'));
  const request = (headers: Readonly<Record<string, string>>, path = '/file/note.txt') => send(port, path, { headers });
  const expect = async (what: string, expected: number, ...responses: Promise<HttpResponse>[]) => {
    for (const { status, body } of await Promise.all(responses))
      assert.equal(status, expected, `${what}: ${body.toString()}`);
  };

  await t.test('prints no password', async () => {
    const signIn = (name: string, password: string) => postJson(port, '/-/session', { name, password });
    const signedIn = await signIn('ann', RIGHT);
    await expect('the right one', 200, Promise.resolve(signedIn), request({ authorization: basicOf('ann', RIGHT) }));
    const wrong = [
      ['ann', WRONG],
      [AS_NAME, RIGHT],
    ] as const;
    for (const [name, password] of wrong) {
      await expect(
        `${name} ${password}`,
        401,
        signIn(name, password),
        request({ authorization: basicOf(name, password) }),
      );
    }
    const body = `{"name": "ann", "password": "${RIGHT}"`;
    for (const malformed of [body, `${body}, }`, `["${RIGHT}"]`, `{"password": ["${RIGHT}"]}`, `"${RIGHT}"`, RIGHT]) {
      await expect(
        `malformed: ${malformed}`,
        400,
        send(port, '/-/session', { method: 'POST', headers: JSON_TYPE, body: malformed }),
      );
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    await expect(
      'a form',
      400,
      send(port, '/-/session', { method: 'POST', headers: form, body: `name=ann&password=${RIGHT}` }),
    );
    for (const encoded of [
      `${basicOf('ann', RIGHT)}!`,
      `Basic ${Buffer.from(RIGHT).toString('base64url')}_`,
      `Basic ann:${RIGHT}`,
      `Digest ${RIGHT}`,
    ]) {
      await expect(encoded, 401, request({ authorization: encoded }));
    }

    await expect('in a URL', 400, request({}, `ftp://ann:${IN_URL}@localhost/note.txt`));

    const cookie = /^[^;]*/.exec(signedIn.headers['set-cookie']?.[0] ?? '')?.[0] ?? '';
    keep('the session', cookie.slice(cookie.indexOf('=') + 1));
    await expect('the session', 200, request({ cookie }));
    await expect(
      'the session, altered',
      401,
      request({ cookie: `${cookie}x` }),
      request({ cookie: `${cookie}; ${cookie}x` }),
    );
    await expect('signing out', 200, send(port, '/-/session', { method: 'DELETE', headers: { cookie } }));
    await expect('the revoked session', 401, request({ cookie }));
  });

  await t.test('prints no token', async () => {
    await expect('a valid one', 200, request({ authorization: `Bearer ${good.token}` }));
    for (const wrong of [expired.token, unknown.token, `${good.token}x`, good.token.toUpperCase(), good.hash]) {
      await expect(wrong, 401, request({ authorization: `Bearer ${wrong}` }));
    }
    await expect('in the query', 401, request({}, `/file/note.txt?access_token=${good.token}`));
    const claims = { sub: 'ann', aud: 'holdall' };
    const jwt = keep('a JWT', await issuer.issue(claims));
    await expect('a JWT of an issuer that is down', 503, request({ authorization: `Bearer ${jwt}` }));
    issuer.start();
    await expect('a JWT', 200, request({ authorization: `Bearer ${jwt}` }));
    const others = [
      await issuer.issueWithOtherKey(claims),
      await issuer.issue({ ...claims, aud: 'other' }),
      await issuer.issue({ aud: 'holdall' }),
      `${jwt.slice(0, -9)}AAAAAAAAA`,
    ];
    for (const [index, other] of others.entries()) {
      await expect(
        `wrong JWT ${index}`,
        401,
        request({ authorization: `Bearer ${keep(`wrong JWT ${index}`, other)}` }),
      );
    }
  });

  await t.test('prints no URL signature', async () => {
    const { headers } = await request({ authorization: `Bearer ${good.token}` }, '/file/large.bin');
    const { pathname, search, searchParams } = new URL(headers.location ?? '', `${publicUrl}/file/`);
    keep('the signature of a URL', searchParams.get('signature') ?? '');
    await expect('a valid one', 200, request({}, pathname + search));
    await expect('altered', 403, request({}, `${pathname}${search}x`), request({}, `/-/signed/note.txt${search}`));
    await expect('elsewhere', 401, request({}, `/file/note.txt${search}`));
  });

  await t.test('prints no secret of an OIDC sign-in', async () => {
    const browser = createBrowser();
    const step = (location: string) => {
      const { host, port: at, pathname, search } = new URL(location, publicUrl);
      return browser.send(Number(at), pathname + search, { headers: { host } });
    };
    /** Signs in at the provider, and returns the callback URL. */
    const signInAtProvider = async (what: string): Promise<string> => {
      let response = await step('/-/sign-in?return=folder/');
      for (const name of ['state', 'nonce', 'code_challenge']) {
        keep(`the ${name} of ${what}`, new URL(response.headers.location ?? '').searchParams.get(name) ?? '');
      }
      const stored = [...browser.cookies].find(([name]) => name.startsWith('holdall-sign-in-'));
      keep(`the stored state of ${what}`, stored?.[1] ?? '');
      while (!response.headers.location?.startsWith(`${publicUrl}/-/sign-in/callback`)) {
        response = await step(
          new URL(response.headers.location ?? assert.fail(`${response.status}`), provider.issuer).href,
        );
      }
      keep(`the code of ${what}`, new URL(response.headers.location).searchParams.get('code') ?? '');
      return response.headers.location;
    };
    await expect('the callback', 302, step(await signInAtProvider('a good sign-in')));
    keep('the session of a provider', sessionCookieIn(browser).split('=')[1] ?? '');

    const altered = (await signInAtProvider('one with another code')).replace(
      /code=[^&]*/,
      'code=code-of-another-user',
    );
    keep('a code of another user', 'code-of-another-user');
    await expect('with another code', 400, step(altered));
    const stateless = (await signInAtProvider('one with another state')).replace(
      /state=[^&]*/,
      'state=state-of-another-user',
    );
    await expect('with another state', 400, step(stateless));
    const late = await signInAtProvider('a late one');
    await expect('without stored state', 400, send(port, new URL(late).pathname + new URL(late).search));
    provider.isAvailable = false;
    await expect('while it is down', 503, step(late));
  });

  await t.test('prints no Redis password when Redis rejects it', async () => {
    await redis.change();
    await until('the failure is logged', () => /Redis unreachable/.test(holdall.printed()));
    const cookie =
      (await postJson(port, '/-/session', { name: 'ann', password: RIGHT })).headers['set-cookie']?.[0] ?? '';
    await expect('a session', 503, request({ cookie: /^[^;]*/.exec(cookie)?.[0] ?? '' }));
  });

  await endOf(holdall);
  const printed = holdall.printed();
  for (const line of [
    '"audit":"sign-in"',
    '"audit":"refusal"',
    '"msg":"store"',
    '"msg":"request"',
    'OIDC provider unavailable',
  ]) {
    assert.ok(printed.includes(line), `${line} was printed.`);
  }
  for (const [what, secret] of secrets) {
    for (const form of formsOf(secret)) assert.ok(!printed.includes(form), `${what}: ${lineWith(printed, form)}`);
  }
});

const JSON_TYPE = { 'content-type': 'application/json' } as const;

const basicOf = (name: string, password: string) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

/** Returns the text unchanged, and encoded for URLs, JSON, headers and hex dumps. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    encodeURIComponent(secret),
    encodeURI(secret),
    new URLSearchParams({ x: secret }).toString().slice(2),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('hex'),
    [...bytes].join(),
    // In Base64, a text can start at three offsets of a group. The characters at its edges then differ.
    ...[0, 1, 2].map((offset) =>
      Buffer.concat([Buffer.alloc(offset), bytes])
        .toString('base64')
        .slice(4, -4),
    ),
    // Half of a long secret is also a leak.
    ...(secret.length > 40 ? [secret.slice(0, secret.length >> 1), secret.slice(secret.length >> 1)] : []),
  ];
}

function lineWith(printed: string, form: string): string | undefined {
  return printed.split('\n').find((line) => line.includes(form));
}

async function endOf(holdall: Holdall): Promise<void> {
  holdall.signal('SIGTERM');
  await holdall.ended;
}

/** Creates a folder with a file, and one file that is large enough for a signed URL. */
async function plantedRoot(t: TestContext): Promise<string> {
  const root = join(await temporaryFolder(t), 'root');
  await mkdir(join(root, 'folder'), { recursive: true });
  for (const name of ['note.txt', 'large.bin']) await writeFile(join(root, name), '');
  await truncate(join(root, 'large.bin'), 6 * 1024 * 1024);
  return root;
}

async function accessFile(t: TestContext, people: object): Promise<string> {
  const file = join(await temporaryFolder(t), 'access.json');
  const grants = [{ folder: '/', to: 'signed-in', rights: ['read'] }];
  await writeFile(file, JSON.stringify({ people, grants }));
  return file;
}

/** A Redis that requires a password. */
async function protectedRedis(t: TestContext) {
  const { port, url, stop } = await startRedis();
  atEnd(t, stop);
  const owner = new Redis(url);
  atEnd(t, () => owner.disconnect());
  await owner.config('SET', 'requirepass', REDIS_PASSWORD);
  return {
    url: `redis://default:${encodeURIComponent(REDIS_PASSWORD)}@127.0.0.1:${port}/0`,
    /** Changes the password, also for connected clients. */
    async change() {
      await owner.config('SET', 'requirepass', 'another password');
      await owner.call('CLIENT', 'KILL', 'SKIPME', 'yes');
    },
  };
}

/** An issuer of JSON Web Tokens that does not publish its keys yet. */
async function startIssuer(t: TestContext) {
  const keys = await startKeyServer();
  atEnd(t, () => keys.stop());
  const [own, other] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')];
  const known = { keys: [{ ...(await exportJWK(own.publicKey)), kid: 'own', alg: 'ES256' }] };
  keys.setResponse('/jwks', 500);
  const sign = (claims: Record<string, string>, key: typeof own, kid: string) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid })
      .setIssuer(keys.issuer)
      .setExpirationTime('1h')
      .sign(key.privateKey);
  return {
    url: keys.issuer,
    /** Publishes the keys. */
    start: () => keys.setResponse('/jwks', known),
    issue: (claims: Record<string, string>) => sign(claims, own, 'own'),
    issueWithOtherKey: (claims: Record<string, string>) => sign(claims, other, 'other'),
  };
}
