import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import { readConfig } from '../../src/config/config.ts';
import { atEnd } from '../../testing/holdall.ts';
import { EVERYONE, grant, startGuardedService } from '../access/guarded-service.ts';
import { memory } from '../contract/backend.ts';
import { assertFailure, postJson, send } from './client.ts';
import { type ServiceOptions, startService } from './service.ts';

const APP = 'https://app.example.org';
const CROSS_SITE = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' };
const PREFLIGHT = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' };
const allowed = new Set([APP]);

async function serve(t: TestContext, options: ServiceOptions): Promise<number> {
  const service = await startService(memory, options);
  atEnd(t, () => service.stop());
  return service.port;
}

const from = (origin: string, headers: Record<string, string> = {}) => ({
  headers: { host: 'localhost:8080', ...CROSS_SITE, origin, ...headers },
});

describe('Without CORS_ORIGINS', () => {
  it('responses have no CORS headers and a preflight request is refused', async (t) => {
    const port = await serve(t, {});
    const response = await send(port, '/', { ...from(APP, PREFLIGHT), method: 'OPTIONS' });
    assertFailure(response, 403, /^Cross-site request blocked/);
    assert.equal(response.headers['access-control-allow-origin'], undefined);
    assert.equal(response.headers.vary, undefined);
  });
});

describe('CORS_ORIGINS with exact origins', () => {
  it('lets their pages read and change files, with cookies', async (t) => {
    const port = await serve(t, { corsOrigins: allowed });
    const made = await postJson(port, '/create_folder', { path: 'made' }, from(APP).headers);
    assert.equal(made.status, 200);
    const listing = await send(port, '/', from(APP, { accept: 'application/json' }));
    assert.equal(listing.status, 200);
    for (const { headers } of [made, listing]) {
      assert.equal(headers['access-control-allow-origin'], APP);
      assert.equal(headers['access-control-allow-credentials'], 'true');
      assert.match(String(headers['access-control-expose-headers']), /ETag/);
    }
    assert.equal(made.headers.vary, 'Origin');
    assert.equal(listing.headers.vary, 'Accept, Origin');
  });

  it('answers their preflight requests on every path, with the methods and headers of the API', async (t) => {
    const port = await serve(t, { corsOrigins: allowed });
    for (const path of ['/', '/upload', '/file/a.txt', '/-/unknown']) {
      const { status, headers } = await send(port, path, { ...from(APP, PREFLIGHT), method: 'OPTIONS' });
      assert.equal(status, 204, path);
      assert.equal(headers['access-control-allow-origin'], APP);
      assert.equal(headers['access-control-allow-methods'], 'GET, HEAD, POST, PUT, PATCH, DELETE');
      assert.match(
        String(headers['access-control-allow-headers']),
        /Authorization, .*Content-Type, .*Range, .*Upload-Offset/,
      );
      assert.equal(headers['access-control-max-age'], '600');
      assert.equal(headers.vary, 'Origin');
    }
  });

  it('still rejects other origins, and sends Vary: Origin in every response', async (t) => {
    const port = await serve(t, { corsOrigins: allowed });
    const others = ['null', 'https://evil.example', 'http://app.example.org', 'https://app.example.org:8443'];
    for (const origin of [...others, 'https://app.example.org.evil.example', `${APP}/`, 'https://x.app.example.org']) {
      const made = await postJson(port, '/create_folder', { path: 'made' }, from(origin).headers);
      assertFailure(made, 403, /^Cross-site request blocked/);
      const preflight = await send(port, '/', { ...from(origin, PREFLIGHT), method: 'OPTIONS' });
      assert.equal(preflight.status, 403);
      for (const { headers } of [made, preflight]) {
        assert.equal(headers['access-control-allow-origin'], undefined, origin);
        assert.equal(headers['access-control-allow-credentials'], undefined, origin);
        assert.equal(headers.vary, 'Origin');
      }
    }
    assert.equal((await send(port, '/', { headers: { host: 'localhost' } })).headers.vary, 'Accept, Origin');
  });

  it('refuses a form submission of their pages, which sends no CORS request', async (t) => {
    const port = await serve(t, { corsOrigins: allowed });
    const { headers } = from(APP, { 'sec-fetch-mode': 'navigate' });
    assertFailure(
      await postJson(port, '/create_folder', { path: 'made' }, headers),
      403,
      /^Cross-site request blocked/,
    );
  });

  it('still refuses other hosts', async (t) => {
    const port = await serve(t, { corsOrigins: allowed });
    assertFailure(await send(port, '/', from(APP, { host: 'evil.example' })), 403, /^The host "evil.example"/);
  });
});

describe('CORS_ORIGINS=*', () => {
  it('lets every page call the API with a token, or with the permissions of everyone', async (t) => {
    const service = await startGuardedService(memory, { corsOrigins: '*' });
    atEnd(t, () => service.stop());
    service.grant(grant('a/', ['read', 'write', 'manage']), grant('public/', ['read'], EVERYONE));
    const headers = { ...CROSS_SITE, origin: 'https://any.example' };
    await service.plant({ 'public/x.txt': 'x' });
    const made = await postJson(
      service.port,
      '/create_folder',
      { path: 'a/b' },
      { ...headers, ...service.authHeaders },
    );
    const anonymous = await service.asAnonymous('/file/public/x.txt', { headers });
    const refused = await service.asAnonymous('/file/a/x.txt', { headers });
    assert.deepEqual([made.status, anonymous.status, refused.status], [200, 200, 401]);
    for (const response of [made, anonymous, refused]) {
      assert.equal(response.headers['access-control-allow-origin'], '*');
      assert.equal(response.headers['access-control-allow-credentials'], undefined);
    }
    // Otherwise, a browser could answer a CORS request with a cached response to an image without CORS headers.
    const embedded = await service.asAnonymous('/file/public/x.txt');
    assert.equal(embedded.headers['access-control-allow-origin'], undefined);
    for (const { headers: found } of [anonymous, embedded]) assert.match(String(found.vary), /\bOrigin\b/);
  });

  it('refuses requests with cookies or passwords of the browser', async (t) => {
    const service = await startGuardedService(memory, { corsOrigins: '*' });
    atEnd(t, () => service.stop());
    const ambient: readonly Record<string, string>[] = [
      { cookie: `${service.sessionCookie}=x` },
      { cookie: `__Host-${service.sessionCookie}=x` },
      { authorization: 'Basic YW5uOng=' },
    ];
    for (const credentials of ambient) {
      const headers = { ...CROSS_SITE, origin: 'https://any.example', ...credentials };
      const listing = await service.asAnonymous('/', { headers });
      assertFailure(listing, 403, /^Cross-site request blocked/);
      assert.equal(listing.headers['access-control-allow-credentials'], undefined);
    }
  });

  it('leaves a service for this machine closed to every page', async (t) => {
    const port = await serve(t, { corsOrigins: '*' });
    assertFailure(await send(port, '/', from('https://any.example')), 403, /^Cross-site request blocked/);
  });
});

describe('CORS_ORIGINS with CONTENT_ORIGIN', () => {
  it('does not change the headers of the content origin', async (t) => {
    const contentOrigin = 'http://contents.example';
    const access = { mode: 'open', policy: () => OPEN_POLICY, authenticators: undefined } as const;
    const port = await serve(t, { corsOrigins: allowed, contentOrigin, access });
    const call = from(APP, { ...PREFLIGHT, host: 'contents.example' });
    const { status, headers } = await send(port, '/-/signed/x', { ...call, method: 'OPTIONS' });
    assert.equal(status, 204);
    assert.equal(headers['access-control-allow-origin'], '*');
    assert.equal(headers['access-control-allow-credentials'], undefined);
    assert.equal(headers['access-control-allow-methods'], 'GET, HEAD');
  });
});

describe('The setting CORS_ORIGINS', () => {
  it('accepts exact origins as browsers send them, or *', () => {
    const read = (CORS_ORIGINS: string) => readConfig({ CORS_ORIGINS, ACCESS_FILE: 'access.json' }).CORS_ORIGINS;
    assert.deepEqual(read('*'), ['*']);
    assert.deepEqual(read('https://APP.example.org:443/, http://localhost:5173'), [APP, 'http://localhost:5173']);
    assert.deepEqual(read('https://bücher.example'), ['https://xn--bcher-kva.example']);
  });

  it('rejects paths, wildcards, lists with * and the origin null', () => {
    for (const CORS_ORIGINS of [
      'https://*.example.org',
      '*,https://a.example',
      'null',
      'app.example.org',
      'https://a.example/x',
      ' , ',
      'file://',
      'https://u@a.example',
      'https://a.example?',
      'https://a.example,',
      'app://a.example',
    ]) {
      assert.throws(() => readConfig({ CORS_ORIGINS }), /CORS_ORIGINS must be \* or exact origins/, CORS_ORIGINS);
    }
  });

  it('requires ACCESS_FILE for *', () => {
    for (const environment of [{}, { ACCESS: 'open' }]) {
      assert.throws(() => readConfig({ ...environment, CORS_ORIGINS: '*' }), /CORS_ORIGINS=\* requires ACCESS_FILE/);
    }
    assert.ok(readConfig({ CORS_ORIGINS: APP }));
  });
});
