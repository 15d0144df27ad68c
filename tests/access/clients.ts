import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createToken } from '../../src/access/credentials.ts';
import { createPolicy, type Grant, type Policy, type Subject, type UserEntry } from '../../src/access/policy.ts';
import { type AccessControl, createAuthenticators } from '../../src/http/access/authentication.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import { startIdentityProvider } from '../../testing/servers/identity-provider.ts';
import { startKeyServer } from '../../testing/servers/key-server.ts';
import { send } from '../http/client.ts';
import { type Browser, createBrowser, sessionCookieIn } from '../http/sign-in/browser.ts';

/** How a request authenticates. */
export const AUTH_METHODS = [
  'no credentials',
  'a session',
  'Basic authentication',
  'a token',
  'a JWT',
  'an OIDC session',
] as const;

export type AuthMethod = (typeof AUTH_METHODS)[number];

/** A client that uses one of the authentication methods. */
export interface Client {
  readonly method: AuthMethod;
  /** The subject of its grants: another kind for each client, because all kinds must work. */
  readonly subject: Subject;
  readonly headers: Readonly<Record<string, string>>;
  /** The status of a refusal. */
  readonly refusal: 401 | 403;
}

/** Users, authentication methods, and grants that a test can change between requests. */
export interface TestAccess {
  readonly control: AccessControl;
  /** The port on which the service must listen, because `publicUrl` contains it. */
  readonly port: number;
  readonly publicUrl: string;
  grant(grants: readonly Grant[]): void;
  /** Signs in at the service and returns one client for each authentication method. */
  clients(): Promise<readonly Client[]>;
  close(): Promise<void>;
}

const PASSWORD = 'correct horse battery staple';

export async function openTestAccess(): Promise<TestAccess> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-test-access-'));
  const port = await findFreePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const provider = await startIdentityProvider({ redirectUri: `${publicUrl}/-/sign-in/callback` });
  provider.user = { claims: { preferred_username: 'dora', groups: ['guests'] } };
  const issuer = await startIssuer();
  const { token, hash } = createToken();
  const people: readonly UserEntry[] = [
    { name: 'ann', password: hashForTest(PASSWORD), groups: ['family'], tokens: [] },
    { name: 'robot', password: undefined, groups: [], tokens: [{ name: 'laptop', hash, expires: undefined }] },
  ];
  let policy: Policy = createPolicy(people, []);
  const claims = { nameClaim: 'preferred_username', groupsClaim: 'groups' };
  const authenticators = createAuthenticators({
    policy: () => policy,
    key: randomBytes(32),
    sessionLifetime: 3600,
    endedSessionsFolder: join(folder, 'ended-sessions'),
    publicUrl,
    basePath: '',
    provider: { issuer: provider.issuer, ...provider.client, scope: 'openid profile', ...claims },
    jwt: { issuer: issuer.url, audience: 'holdall', jwksUrl: undefined, ...claims },
    warn: (message) => assert.fail(message),
  });

  return {
    control: { mode: 'file', policy: () => policy, authenticators },
    port,
    publicUrl,
    grant(grants) {
      policy = createPolicy(people, grants);
    },
    clients: async () => [
      { method: 'no credentials', subject: { kind: 'everyone' }, headers: {}, refusal: 401 },
      {
        method: 'a session',
        subject: { kind: 'person', name: 'ann' },
        headers: await sessionBy(signIn, port),
        refusal: 403,
      },
      {
        method: 'Basic authentication',
        subject: { kind: 'group', name: 'family' },
        headers: authorization(basic),
        refusal: 403,
      },
      { method: 'a token', subject: { kind: 'signed-in' }, headers: authorization(`Bearer ${token}`), refusal: 403 },
      {
        method: 'a JWT',
        subject: { kind: 'person', name: 'carl@example.org' },
        headers: authorization(`Bearer ${await issuer.issue({ preferred_username: 'carl@example.org' })}`),
        refusal: 403,
      },
      {
        method: 'an OIDC session',
        subject: { kind: 'group', name: 'guests' },
        headers: await sessionBy((browser) => browser.visit(`${publicUrl}/-/sign-in`), port),
        refusal: 403,
      },
    ],
    async close() {
      await authenticators.close();
      await Promise.all([provider.stop(), issuer.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const authorization = (value: string) => ({ authorization: value });

const basic = `Basic ${Buffer.from(`ann:${PASSWORD}`).toString('base64')}`;

/** Signs in as the web UI does. */
async function signIn(browser: Browser, port: number): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'ann', password: PASSWORD });
  const { status } = await browser.send(port, '/-/session', { method: 'POST', headers, body });
  assert.equal(status, 200);
}

/** Signs in with `begin` and returns the session cookie. */
async function sessionBy(
  begin: (browser: Browser, port: number) => Promise<unknown>,
  port: number,
): Promise<Record<string, string>> {
  const browser = createBrowser();
  await begin(browser, port);
  const headers = { cookie: sessionCookieIn(browser) };
  const { name } = JSON.parse((await send(port, '/-/session', { headers })).body.toString());
  assert.equal(typeof name, 'string');
  return headers;
}

/** Starts an issuer of JSON Web Tokens, which serves its public key. */
async function startIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const server = await startKeyServer();
  server.setResponse('/jwks', { keys: [await exportJWK(publicKey)] });
  return {
    url: server.issuer,
    issue: (claims: Record<string, string>) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256' })
        .setIssuer(server.issuer)
        .setAudience('holdall')
        .setExpirationTime('1h')
        .sign(privateKey),
    stop: () => server.stop(),
  };
}
