import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createToken } from '../../../src/access/credentials.ts';
import { PERMISSIONS } from '../../../src/access/policy.ts';
import { ROOT } from '../../../src/model/path.ts';
import { hashForTest } from '../../../testing/passwords.ts';
import { type KeyServer, startKeyServer } from '../../../testing/servers/key-server.ts';
import { assertFailure, jsonOf, postJson, send } from '../client.ts';
import { person, type SignedInService, startSignedInService } from './signed-in-service.ts';

const laptop = createToken();
const ANN = person('ann', {
  password: hashForTest('correct horse'),
  tokens: [{ name: 'laptop', hash: laptop.hash, expires: undefined }],
});
const AUDIENCE = 'https://files.example.org';
const JWT_GROUP = 'ops';

/** Each test uses its own addresses, so that the attempts of other tests do not count. */
let addresses = 0;
const elsewhere = () => ({ 'x-forwarded-for': `192.0.2.${++addresses}`, 'x-forwarded-proto': 'https' });
const invalidToken = () => createToken().token;

describe('Tokens of apps', () => {
  let issuer: KeyServer;
  let service: SignedInService;
  let signJwt: (groups: readonly string[]) => Promise<string>;

  before(async () => {
    issuer = await startKeyServer();
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    issuer.setResponse('/jwks', { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] });
    signJwt = (groups) =>
      new SignJWT({ sub: 'robot', groups })
        .setProtectedHeader({ alg: 'ES256' })
        .setIssuer(issuer.issuer)
        .setAudience(AUDIENCE)
        .setExpirationTime('1h')
        .sign(privateKey);
    service = await startSignedInService({
      people: [ANN, person('bob')],
      grants: [
        { folder: ROOT, to: { kind: 'person', name: 'ann' }, permissions: PERMISSIONS },
        { folder: ROOT, to: { kind: 'group', name: JWT_GROUP }, permissions: PERMISSIONS },
      ],
      hasJobs: true,
      jwt: {
        issuer: issuer.issuer,
        audience: AUDIENCE,
        jwksUrl: undefined,
        nameClaim: 'sub',
        groupsClaim: 'groups',
      },
    });
  });
  after(async () => {
    await service.stop();
    await issuer.stop();
  });

  const withBasic = (name: string, password: string, headers: Record<string, string> = elsewhere()) =>
    send(service.port, '/', {
      headers: { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`, ...headers },
    });
  const create = async (headers: Record<string, string>, body: object = { name: 'Phone' }) => {
    const response = await postJson(service.port, '/-/app-tokens', body, headers);
    assert.equal(response.status, 200, response.body.toString());
    return jsonOf(response) as { secret: string; token: { id: string } };
  };

  it('of the access file are passwords of Basic, with the name of their user or none', async () => {
    assert.equal((await withBasic('ann', laptop.token)).status, 200);
    assert.equal((await withBasic('', laptop.token)).status, 200);
    assertFailure(await withBasic('bob', laptop.token), 401, /belongs to another user than "bob"/);
    const inTheClear = await withBasic('ann', laptop.token, { ...elsewhere(), 'x-forwarded-proto': 'http' });
    assertFailure(inTheClear, 403, /requires HTTPS/);
  });

  it('are no passwords of the sign-in form', async () => {
    const { secret } = await create({ authorization: `Bearer ${laptop.token}` });
    for (const password of [secret, laptop.token]) {
      const response = await postJson(service.port, '/-/session', { name: 'ann', password }, elsewhere());
      assertFailure(response, 401, 'Wrong username or password.');
      assert.equal(response.headers['set-cookie'], undefined);
    }
  });

  it('count as failed passwords if they are invalid, and the same one once a minute', async () => {
    const from = elsewhere();
    const known = service.events.length;
    const repeated = invalidToken();
    for (let attempt = 0; attempt < 15; attempt++) {
      assertFailure(await withBasic('ann', repeated, from), 401, 'Invalid or revoked token.');
    }
    for (let attempt = 1; attempt < 10; attempt++) {
      assertFailure(await withBasic('ann', invalidToken(), from), 401, 'Invalid or revoked token.');
    }
    const refused = await withBasic('ann', invalidToken(), from);
    assertFailure(refused, 429, /^Too many sign-in attempts/);
    assert.ok(Number(refused.headers['retry-after']) >= 1);
    assertFailure(await withBasic('ann', 'correct horse', from), 429, /^Too many/);
    const refusals = service.events.slice(known).filter(({ event, name }) => event === 'sign-in' && name === 'ann');
    assert.equal(refusals.filter(({ outcome }) => outcome === 'refused').length, 11);
    // Tokens can't be guessed, so a valid one works despite the throttle.
    const { secret } = await create({ authorization: `Bearer ${laptop.token}` });
    for (const token of [laptop.token, secret]) assert.equal((await withBasic('ann', token, from)).status, 200);
    assert.doesNotMatch(JSON.stringify([service.events, service.log]), /holdall_app_[\w-]{43}/);
  });

  it('of a JWT have the groups of its user at their creation', async () => {
    const member = await create({ authorization: `Bearer ${await signJwt([JWT_GROUP])}` });
    const other = await create({ authorization: `Bearer ${await signJwt([])}` });
    assert.equal((await withBasic('robot', member.secret)).status, 200);
    assertFailure(await withBasic('robot', other.secret), 403, /^This app token of "robot" doesn't give/);
    const listed = await send(service.port, '/-/app-tokens', {
      headers: { authorization: `Bearer ${await signJwt([])}` },
    });
    assert.equal((jsonOf(listed)['tokens'] as unknown[]).length, 2);
  });

  it('are created and revoked with a session, unless another site sends the request', async () => {
    const from = elsewhere();
    const signedIn = await postJson(service.port, '/-/session', { name: 'ann', password: 'correct horse' }, from);
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? '';
    const own = { ...from, cookie, 'sec-fetch-site': 'same-origin' };
    const { secret, token } = await create(own);
    const foreign = { ...own, 'sec-fetch-site': 'cross-site' };
    for (const headers of [foreign, { ...from, cookie, origin: 'https://evil.example.org' }]) {
      assertFailure(await postJson(service.port, '/-/app-tokens', { name: 'x' }, headers), 403, /site|origin/i);
      const call = { method: 'DELETE', headers };
      assertFailure(await send(service.port, `/-/app-tokens/${token.id}`, call), 403, /site|origin/i);
    }
    assert.equal((await withBasic('ann', secret)).status, 200);
    const revoked = await send(service.port, `/-/app-tokens/${token.id}`, { method: 'DELETE', headers: own });
    assert.equal(revoked.status, 200);
    assertFailure(await withBasic('ann', secret), 401, 'Invalid or revoked token.');
    const way = service.events.findLast(({ action }) => action === 'revoke app token')?.authMethod;
    assert.equal(way, 'session');
  });

  it('of another user are not found', async () => {
    const { token } = await create({ authorization: `Bearer ${await signJwt([JWT_GROUP])}` });
    const headers = { authorization: `Bearer ${laptop.token}` };
    const response = await send(service.port, `/-/app-tokens/${token.id}`, { method: 'DELETE', headers });
    assertFailure(response, 404, /does not exist/);
  });
});
