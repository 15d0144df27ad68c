import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createToken } from '../../../src/access/credentials.ts';
import { accessOf } from '../../../src/http/access/request-access.ts';
import type { App } from '../../../src/http/fastify-app.ts';
import { ROOT } from '../../../src/model/path.ts';
import { hashForTest } from '../../../testing/passwords.ts';
import { assertFailure, jsonOf, postJson, send } from '../client.ts';
import { person, type SignedInService, startSignedInService } from './signed-in-service.ts';

const BASIC = 'Basic realm="Holdall", charset="UTF-8"';
const NAVIGATION = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'none' };
const HTTPS = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' };
const HTTP = { 'x-forwarded-proto': 'http', 'x-forwarded-for': '192.0.2.1' };

/** A route like those of clients that don't have the web UI. */
function addExplicitRoute(app: App): void {
  app.get('/-/test', { config: { access: 'files', credentials: 'explicit' } }, async (request) => {
    const { files, user } = accessOf(request);
    await files.list(ROOT);
    return { user: user?.name };
  });
}

describe('A route with explicit credentials', () => {
  const token = createToken();
  const ann = person('ann', {
    password: hashForTest('correct horse'),
    tokens: [{ name: 'laptop', hash: token.hash, expires: undefined }],
  });
  let service: SignedInService;
  before(async () => {
    service = await startSignedInService({ people: [ann], addRoutes: addExplicitRoute });
  });
  after(() => service.stop());

  const challengesOf = async (headers: Record<string, string>, path = '/-/test') => {
    const response = await send(service.port, path, { headers });
    assertFailure(response, 401, /./);
    return String(response.headers['www-authenticate']);
  };

  it('ignores the session cookie, and keeps it', async () => {
    const signedIn = await postJson(service.port, '/-/session', { name: 'ann', password: 'correct horse' });
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? '';
    assert.equal(jsonOf(await send(service.port, '/-/session', { headers: { cookie } }))['name'], 'ann');
    const refused = await send(service.port, '/-/test', { headers: { cookie } });
    assertFailure(refused, 401, /^Sign in/);
    assert.equal(refused.headers['set-cookie'], undefined);
    const invalid = await send(service.port, '/-/test', { headers: { cookie: 'holdall=x' } });
    assert.equal(invalid.headers['set-cookie'], undefined);
  });

  it('accepts Basic and Bearer', async () => {
    const basic = `Basic ${Buffer.from('ann:correct horse').toString('base64')}`;
    for (const authorization of [basic, `Bearer ${token.token}`]) {
      const response = await send(service.port, '/-/test', { headers: { authorization } });
      assert.equal(response.status, 200);
      assert.equal(jsonOf(response)['user'], 'ann');
    }
  });

  it('offers Basic before Bearer, also to browsers', async () => {
    const requests: Record<string, string>[] = [{}, NAVIGATION, { accept: 'text/html' }, { ...NAVIGATION, ...HTTPS }];
    for (const headers of requests) {
      assert.equal(await challengesOf(headers), `${BASIC}, Bearer realm="Holdall"`);
    }
    const invalid = await challengesOf({ authorization: 'Bearer holdall_x' });
    assert.equal(invalid, `${BASIC}, Bearer realm="Holdall", error="invalid_token"`);
  });

  it('offers only Bearer over an unencrypted network', async () => {
    assert.equal(await challengesOf({ ...NAVIGATION, ...HTTP }), 'Bearer realm="Holdall"');
  });

  it('leaves the challenges of other routes as they are', async () => {
    assert.equal(await challengesOf({}, '/'), `Bearer realm="Holdall", ${BASIC}`);
    assert.equal(await challengesOf({ ...NAVIGATION, accept: 'application/json' }, '/'), 'Bearer realm="Holdall"');
  });
});
