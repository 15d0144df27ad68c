import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { atEnd } from '../../testing/holdall.ts';
import { type GuardedService, grant, json, startGuardedService } from '../access/guarded-service.ts';
import { memory } from '../contract/backend.ts';
import { assertFailure, BOUNDARY, begin, type FormPart, formOf, jsonOf, pathsBelow, send } from './client.ts';
import { served, startService } from './service.ts';

const HTML = { accept: 'text/html' };
const MANIFEST = '/-/manifest.webmanifest';
const WORKER = '/-/service-worker.js';
const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
const PARTS = [
  { name: 'title', value: 'A photo' },
  { name: 'files', filename: 'cat.jpg', value: 'meow' },
];

/** The members of the manifest that these tests read. */
interface Manifest {
  readonly start_url: string;
  readonly scope: string;
  readonly display: string;
  readonly icons: readonly { readonly src: string; readonly sizes: string; readonly purpose: string }[];
  readonly share_target: { readonly action: string };
}

describe('The installable web UI', () => {
  const service = served(memory);

  const get = (path: string, headers: Record<string, string> = {}) => send(service.port, path, { headers });
  const share = (parts: readonly FormPart[], headers: Record<string, string> = {}) =>
    send(service.port, '/-/share', { method: 'POST', headers: { ...FORM, ...headers }, body: formOf(parts) });

  it('links the manifest and the icon from the page of any folder, by relative URLs', async () => {
    for (const [path, base] of [
      ['/', './'],
      ['/missing/deeper/', '../../'],
      ['/?view=recent', './'],
    ] as const) {
      const page = (await get(path, HTML)).body.toString();
      assert.ok(
        page.includes(`<link rel="manifest" href="${base}-/manifest.webmanifest" crossorigin="use-credentials">`),
      );
      assert.match(
        page,
        new RegExp(`<link rel="apple-touch-icon" href="${base}-/assets/apple-touch-180-[\\w-]+\\.png">`),
      );
    }
  });

  it('has a manifest that is valid below any path', async () => {
    const { status, headers, body } = await get(MANIFEST);
    assert.deepEqual(
      [status, headers['content-type'], headers['cache-control'], headers['x-content-type-options']],
      [200, 'application/manifest+json; charset=utf-8', 'no-cache', 'nosniff'],
    );
    const manifest = JSON.parse(body.toString()) as Manifest;
    const url = (relative: string) => new URL(relative, `https://example.org/files${MANIFEST}`).href;
    assert.equal(manifest.display, 'standalone');
    assert.equal(url(manifest.start_url), 'https://example.org/files/');
    assert.equal(url(manifest.scope), 'https://example.org/files/');
    assert.equal(url(manifest.share_target.action), 'https://example.org/files/-/share');
  });

  it('has icons of the sizes in the manifest, and the maskable ones are opaque', async () => {
    const { icons } = JSON.parse((await get(MANIFEST)).body.toString()) as Manifest;
    for (const { src, sizes, purpose } of icons) {
      const { status, headers, body } = await get(`/-/${src}`);
      assert.deepEqual([status, headers['content-type']], [200, 'image/png'], src);
      const { width, height, hasAlpha } = await sharp(body).metadata();
      assert.equal(`${width}x${height}`, sizes);
      assert.equal(hasAlpha, purpose !== 'maskable', src);
    }
    assert.deepEqual(
      icons.map(({ purpose, sizes }) => `${purpose} ${sizes}`),
      ['any 192x192', 'any 512x512', 'maskable 512x512', 'monochrome 192x192'],
    );
  });

  it('has a service worker for the root, which loads nothing of other origins', async () => {
    const { status, headers, body } = await get(WORKER, { 'service-worker': 'script' });
    assert.equal(status, 200);
    assert.match(headers['content-type'] ?? '', /^text\/javascript/);
    assert.equal(headers['cache-control'], 'no-cache');
    assert.equal(new URL(String(headers['service-worker-allowed']), `http://host/files${WORKER}`).pathname, '/files/');
    assert.equal(headers['content-security-policy'], "default-src 'none'; connect-src 'self'");
    const assets = body.toString().match(/"[\w-]+\.(?:js|css|svg)"/g) ?? [];
    assert.ok(assets.length >= 5, body.toString().slice(0, 400));
    for (const name of assets) assert.equal((await get(`/-/assets/${name.slice(1, -1)}`)).status, 200, name);
  });

  it('stores nothing of a share that arrives without the service worker, and says so', async () => {
    const response = await share(PARTS);
    assert.deepEqual([response.status, response.headers['location']], [303, '../?shared=none']);
    assert.deepEqual(await pathsBelow(service.port), []);
    assertFailure(await get('/-/share'), 405, /POST/);
  });

  it('refuses the form of a page of another site', async () => {
    const response = await share(PARTS, { 'sec-fetch-site': 'cross-site' });
    assertFailure(response, 403, /another origin/);
  });

  it('responds to a large share before its body has arrived', async () => {
    const headers = { ...FORM, 'content-length': '1000000000' };
    const { response, disconnect } = begin(service.port, '/-/share', { method: 'POST', headers });
    assert.equal((await response).statusCode, 303);
    disconnect();
  });

  it('can be turned off: the manifest is missing, and the service worker removes itself', async (t) => {
    const plain = await startService(memory, { isInstallable: false });
    atEnd(t, () => plain.stop());
    const page = await send(plain.port, '/', { headers: HTML });
    assert.doesNotMatch(page.body.toString(), /manifest|apple-touch/);
    assert.match(String(page.headers['content-security-policy']), /manifest-src 'none'.*trusted-types preview-worker$/);
    for (const path of [MANIFEST, '/-/share'])
      assertFailure(await send(plain.port, path, { headers: {} }), 404, /route/);
    const worker = await send(plain.port, WORKER, {});
    assert.equal(worker.status, 200);
    assert.match(worker.body.toString(), /^const OFFLINE_PAGE = null;/);
  });
});

describe('The installable web UI of a service with users', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService(memory, { hasJobs: true });
    service.grant(grant('', PERMISSIONS));
  });
  after(() => service.stop());

  it('has a manifest and a service worker without signing in, which name nothing of the service', async () => {
    await service.plant({ 'secret/plan.txt': 'x' });
    for (const path of [MANIFEST, WORKER]) {
      const { status, body } = await send(service.port, path, {});
      assert.equal(status, 200);
      assert.doesNotMatch(body.toString(), /secret|plan|ann/);
    }
  });

  it('has neither for the visitors of share links', async () => {
    const { token } = jsonOf(await service.asAnn('/-/links', json({ path: 'secret/' }))) as { token: string };
    const page = await send(service.port, `/-/s/${token}/`, { headers: HTML });
    assert.equal(page.status, 200);
    assert.doesNotMatch(page.body.toString(), /rel="manifest"|apple-touch-icon/);
    assert.match(String(page.headers['content-security-policy']), /manifest-src 'none'/);
    for (const path of ['-/manifest.webmanifest', '-/service-worker.js', '-/share']) {
      const { status } = await send(service.port, `/-/s/${token}/${path}`, {});
      assert.equal(status, 404, path);
    }
    const locked = await send(service.port, '/-/s/unknown/', { headers: HTML });
    assert.doesNotMatch(locked.body.toString(), /rel="manifest"/);
  });
});
