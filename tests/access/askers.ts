import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createPolicy, type Grant, type Person, type Policy, type Subject } from '../../src/access/policy.ts';
import { createToken } from '../../src/access/tokens.ts';
import type { AccessControl } from '../../src/http/access/access-control.ts';
import { createWaysIn } from '../../src/http/access/ways-in.ts';
import { send } from '../http/client.ts';
import { type Browser, createBrowser } from '../http/sign-in/browser.ts';
import { cheapHash } from '../http/sign-in/signed-in-service.ts';
import { findFreePort } from '../servers/free-port.ts';
import { startIdentityProvider } from '../servers/identity-provider.ts';
import { startKeyServer } from '../servers/key-server.ts';

/** How a request may prove who sends it. */
export const WAYS = ['nothing', 'a session', 'Basic', 'a token', 'a JWT', 'a provider'] as const;

export type Way = (typeof WAYS)[number];

/** Somebody who sends requests in one of the ways. */
export interface Asker {
  readonly way: Way;
  /** By what grants reach them: each by another kind or from elsewhere, since all have to work. */
  readonly subject: Subject;
  readonly headers: Readonly<Record<string, string>>;
  /** The status of a refusal. */
  readonly refusal: 401 | 403;
}

/** People, their ways in, and grants that can be changed from one request to the next. */
export interface Gate {
  readonly access: AccessControl;
  /** Where the service has to listen that they sign in at. */
  readonly port: number;
  readonly publicUrl: string;
  grant(grants: readonly Grant[]): void;
  /** Everybody, when that service listens. */
  askers(): Promise<readonly Asker[]>;
  close(): Promise<void>;
}

const PASSWORD = 'correct horse battery staple';

export async function openGate(): Promise<Gate> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-test-gate-'));
  const port = await findFreePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const provider = await startIdentityProvider({ redirectUri: `${publicUrl}/-/sign-in/callback` });
  provider.person = { claims: { preferred_username: 'dora', groups: ['guests'] } };
  const issuer = await startIssuer();
  const { token, hash } = createToken();
  const people: readonly Person[] = [
    { name: 'ann', password: cheapHash(PASSWORD), groups: ['family'], tokens: [] },
    { name: 'robot', password: undefined, groups: [], tokens: [{ name: 'laptop', hash, expires: undefined }] },
  ];
  let policy: Policy = createPolicy(people, []);
  const claims = { nameClaim: 'preferred_username', groupsClaim: 'groups' };
  const waysIn = createWaysIn({
    policy: () => policy,
    key: randomBytes(32),
    sessionLifetime: 3600,
    endedSessionsFolder: join(folder, 'ended-sessions'),
    publicUrl,
    provider: { issuer: provider.issuer, ...provider.client, scope: 'openid profile', ...claims },
    jwt: { issuer: issuer.url, audience: 'holdall', jwksUrl: undefined, ...claims },
    warn: (message) => assert.fail(message),
  });

  return {
    access: { mode: 'file', policy: () => policy, waysIn },
    port,
    publicUrl,
    grant(grants) {
      policy = createPolicy(people, grants);
    },
    askers: async () => [
      { way: 'nothing', subject: { kind: 'everyone' }, headers: {}, refusal: 401 },
      {
        way: 'a session',
        subject: { kind: 'person', name: 'ann' },
        headers: await sessionBy(signIn, port),
        refusal: 403,
      },
      { way: 'Basic', subject: { kind: 'group', name: 'family' }, headers: authorization(basic), refusal: 403 },
      { way: 'a token', subject: { kind: 'signed-in' }, headers: authorization(`Bearer ${token}`), refusal: 403 },
      {
        way: 'a JWT',
        subject: { kind: 'person', name: 'carl@example.org' },
        headers: authorization(`Bearer ${await issuer.issue({ preferred_username: 'carl@example.org' })}`),
        refusal: 403,
      },
      {
        way: 'a provider',
        subject: { kind: 'group', name: 'guests' },
        headers: await sessionBy((browser) => browser.visit(`${publicUrl}/-/sign-in`), port),
        refusal: 403,
      },
    ],
    async close() {
      await waysIn.close();
      await Promise.all([provider.stop(), issuer.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const authorization = (value: string) => ({ authorization: value });

const basic = `Basic ${Buffer.from(`ann:${PASSWORD}`).toString('base64')}`;

/** Signs in as the page does. */
async function signIn(browser: Browser, port: number): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'ann', password: PASSWORD });
  const { status } = await browser.send(port, '/-/session', { method: 'POST', headers, body });
  assert.equal(status, 200);
}

/** The cookie of a session that was begun by this. */
async function sessionBy(
  begin: (browser: Browser, port: number) => Promise<unknown>,
  port: number,
): Promise<Record<string, string>> {
  const browser = createBrowser();
  await begin(browser, port);
  const headers = { cookie: `holdall=${browser.cookies(port).get('holdall')}` };
  const { name } = JSON.parse((await send(port, '/-/session', { headers })).body.toString());
  assert.equal(typeof name, 'string');
  return headers;
}

/** Somebody who issues JSON Web Tokens, and tells the key that they are signed with. */
async function startIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const server = await startKeyServer();
  server.answer('/jwks', { keys: [await exportJWK(publicKey)] });
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
