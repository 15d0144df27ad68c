import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createToken } from '../../../src/access/credentials.ts';
import { type KeyServer, startKeyServer } from '../../../testing/servers/key-server.ts';
import { assertFailure, jsonOf, send } from '../client.ts';
import { person, type SignedInService, startSignedInService } from './signed-in-service.ts';

const AUDIENCE = 'https://files.example.org';
const [lasting, brief] = [createToken(), createToken()];
const BRIEF_END = new Date('2999-01-01T00:00:00.000Z');
const LATER = '2999-01-01T00:00:01Z';
const LASTING = { name: 'lasting', hash: lasting.hash, expires: undefined };
const BRIEF = { name: 'brief', hash: brief.hash, expires: BRIEF_END };
const [ROBOT, ANN] = [person('robot'), person('ann', { tokens: [LASTING, BRIEF] })];

const WEBHOOK = { url: 'https://example.org/hook' };

describe('What a request with a token creates', () => {
  let issuer: KeyServer;
  let service: SignedInService;
  let signJwt: (expires: Date) => Promise<string>;

  before(async () => {
    issuer = await startKeyServer();
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    issuer.setResponse('/jwks', { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] });
    signJwt = (expires) =>
      new SignJWT({ sub: 'robot' })
        .setProtectedHeader({ alg: 'ES256' })
        .setIssuer(issuer.issuer)
        .setAudience(AUDIENCE)
        .setExpirationTime(expires)
        .sign(privateKey);
    service = await startSignedInService({
      people: [ROBOT, ANN],
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

  const call = (token: string, path: string, body?: object, method = 'POST') =>
    send(service.port, path, {
      method: body ? method : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  const createAppToken = (token: string, more: object = {}) => call(token, '/-/app-tokens', { name: 'App', ...more });
  const createLink = (token: string, more: object = {}) => call(token, '/-/links', { path: '', ...more });
  const created = (response: Awaited<ReturnType<typeof call>>) => {
    assert.equal(response.status, 200, response.body.toString());
    const { token, link, secret } = jsonOf(response);
    const { id, expiresAt } = (link ?? token) as { id: string; expiresAt?: string };
    return { id, expiresAt, secret: String(secret), token: String(token) };
  };

  it('ends with a JWT or a token that expires, at the latest', async () => {
    const end = new Date(Math.floor(Date.now() / 1000) * 1000 + 300_000);
    const jwt = await signJwt(end);
    for (const [token, latest] of [
      [jwt, end],
      [brief.token, BRIEF_END],
    ] as const) {
      for (const create of [createAppToken, createLink]) {
        assert.equal(created(await create(token)).expiresAt, latest.toISOString());
        const earlier = new Date(latest.getTime() - 1000).toISOString();
        assert.equal(created(await create(token, { expiresAt: earlier })).expiresAt, earlier);
        for (const expiresAt of [LATER, null]) {
          assertFailure(await create(token, { expiresAt }), 403, /nothing that it creates or changes may end later/);
        }
      }
      assertFailure(await call(token, '/-/webhooks', WEBHOOK), 403, /webhooks have no end/);
    }
    assert.equal(created(await createAppToken(lasting.token)).expiresAt, undefined);
    assert.equal(created(await createLink(lasting.token, { expiresAt: LATER })).expiresAt, '2999-01-01T00:00:01.000Z');
  });

  it('is not changed so that it ends later than the token', async () => {
    const { id } = created(await createLink(lasting.token));
    const change = (token: string, body: object) => call(token, `/-/links/${id}`, body, 'PATCH');
    assertFailure(await change(brief.token, { label: 'later' }), 403, /may end later/);
    assert.equal(created(await change(brief.token, { expiresAt: '2998-01-01T00:00:00Z' })).id, id);
    assertFailure(await change(brief.token, { expiresAt: LATER }), 403, /may end later/);
    assert.equal((await change(lasting.token, { expiresAt: null })).status, 200);
    const { webhook } = jsonOf(await call(lasting.token, '/-/webhooks', WEBHOOK)) as { webhook: { id: string } };
    const webhookPath = `/-/webhooks/${webhook.id}`;
    assertFailure(await call(brief.token, webhookPath, { description: 'x' }, 'PATCH'), 403, /webhooks have no end/);
  });

  it('ends when the token of the access file is removed', async () => {
    const { secret } = created(await createAppToken(lasting.token));
    const link = created(await createLink(lasting.token));
    const statuses = async () => [
      (await call(secret, '/')).status,
      (await send(service.port, `/-/s/${link.token}/`)).status,
    ];
    assert.deepEqual(await statuses(), [200, 200]);
    service.change([ROBOT, person('ann', { tokens: [BRIEF] })]);
    assert.deepEqual(await statuses(), [401, 404]);
    service.change([ROBOT, ANN]);
  });
});
