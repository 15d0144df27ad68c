import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import { parseFile } from '../../src/model/path.ts';
import { atEnd } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { grant, startGuardedService } from '../access/guarded-service.ts';
import { representativesOf } from '../attacks/spellings.ts';
import { disk } from '../contract/backend.ts';
import { assertFailure, followLocation, type HttpResponse, jsonOf, postJson, send } from './client.ts';
import { startService, type TestService } from './service.ts';
import { createBrowser } from './sign-in/browser.ts';
import { ANN, startPair } from './sign-in/provider-pair.ts';
import { person, startSignedInService } from './sign-in/signed-in-service.ts';

const BASE = '/team/files';
const HTML = { accept: 'text/html' };
const RCLONE = { 'user-agent': 'rclone/v1.70.0' };
const METRICS_TOKEN = 'token-of-the-metrics';
const LARGE = randomBytes(6 * 1024 * 1024);

describe('A service with a base path', () => {
  let service: TestService;
  const get = (path: string, headers: Record<string, string> = {}) => send(service.port, path, { headers });

  before(async () => {
    service = await startService(disk, {
      basePath: BASE,
      metrics: {
        token: Buffer.from(METRICS_TOKEN),
        format: async () => ({ type: 'text/plain', text: 'metrics' }),
        requestStarted() {},
        requestCompleted() {},
      },
      security: { contact: 'mailto:security@example.org', expires: new Date('2027-06-30T00:00:00Z') },
    });
    const image = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    for (const [path, bytes] of Object.entries({
      'a b.txt': 'a',
      'file/x.txt': 'x',
      'photos/red.png': image,
      'photos/large #1.bin': LARGE,
    })) {
      await service.store.write(parseFile(path), { body: Readable.from([Buffer.from(bytes)]), type: 'text/plain' });
    }
  });
  after(() => service.stop());

  it('has only links below the base path, and all of them work', async () => {
    const linked = new Set<string>();
    for (const [path, headers] of [
      [`${BASE}/`, HTML],
      [`${BASE}/photos/`, HTML],
      [`${BASE}/photos`, HTML],
      [`${BASE}/?prefix=file%2F`, HTML],
      [`${BASE}/missing/folder`, HTML],
      [`${BASE}/missing/%zz`, HTML],
      [`${BASE}/`, RCLONE],
      [`${BASE}/photos/`, RCLONE],
      [`${BASE}/-/docs/`, HTML],
    ] as const) {
      const links = linksIn(await get(path, headers), path);
      assert.ok(links.length > 0, path);
      for (const link of links) linked.add(link);
    }
    for (const link of linked) {
      assert.ok(link.startsWith(`${BASE}/`), link);
      const { status, headers } = await get(link, RCLONE);
      assert.ok(status === 200 || (status === 302 && headers.location !== undefined), `${status} ${link}`);
    }
    for (const path of ['-/assets/', 'file/a%20b.txt', 'file/file/x.txt', 'photos/', '?prefix=file%2F']) {
      assert.ok(
        [...linked].some((link) => link.startsWith(`${BASE}/${path}`)),
        path,
      );
    }
  });

  it('tells the web UI its root relative to the document', async () => {
    for (const path of [`${BASE}/`, `${BASE}/photos`, `${BASE}/photos/`, `${BASE}/missing/a/b`]) {
      const { body } = await get(path, HTML);
      const [, embedded = ''] =
        /<script type="application\/json" id="embedded">(.*?)<\/script>/.exec(String(body)) ?? [];
      const { base } = JSON.parse(embedded) as { base: string };
      assert.equal(new URL(base, `http://host${path}`).pathname, `${BASE}/`);
    }
  });

  it('redirects to URLs below the base path', async () => {
    const path = `${BASE}/file/photos/large%20%231.bin`;
    const { status, headers } = await get(path);
    assert.equal(status, 302);
    assert.ok(new URL(String(headers.location), `http://host${path}`).pathname.startsWith(`${BASE}/-/signed/`));
    const { body } = await followLocation(service.port, path, String(headers.location));
    assert.ok(body.equals(LARGE));
  });

  it('redirects the base path without its slash', async () => {
    for (const [path, target] of [
      [BASE, `${BASE}/`],
      [`${BASE}?prefix=photos%2F&x=//evil.example`, `${BASE}/?prefix=photos%2F&x=//evil.example`],
    ] as const) {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await send(service.port, path, { method });
        assert.equal(status, 308);
        assert.equal(new URL(String(headers.location), `http://host${path}`).href, `http://host${target}`);
      }
    }
    assertFailure(await send(service.port, BASE, { method: 'POST' }), 404, /below \/team\/files\//);
  });

  it('serves all endpoints below the base path', async () => {
    for (const [path, headers] of [
      ['/-/health/live', {}],
      ['/-/health/ready', {}],
      ['/-/session', {}],
      ['/-/openapi.json', {}],
      ['/-/metrics', { authorization: `Bearer ${METRICS_TOKEN}` }],
      ['/.well-known/security.txt', {}],
      ['/thumb/photos/red.png', {}],
      ['/?prefix=photos', {}],
    ] as const) {
      assert.equal((await get(BASE + path, headers)).status, 200, path);
    }
    const { servers } = jsonOf(await get(`${BASE}/-/openapi.json`)) as {
      servers: { url: string }[];
    };
    const [server] = servers.map(({ url }) => new URL(url, `http://host${BASE}/-/openapi.json`).pathname);
    assert.equal(server, `${BASE}/`);
    const created = await postJson(service.port, `${BASE}/create_folder`, { path: 'new/' });
    assert.equal(created.status, 200, created.body.toString());
    const options = await send(service.port, `${BASE}/upload`, { method: 'OPTIONS' });
    assert.deepEqual([options.status, options.headers.allow], [204, 'POST']);
  });

  it('responds with 404 outside the base path, and names it', async () => {
    for (const path of [
      '/',
      '/a%20b.txt',
      '/file/a%20b.txt',
      '/-/health/live',
      '/-/outside-base-path',
      '/team',
      '/team/',
      '/team/filesystem/',
      '/team/files-2/file/a%20b.txt',
      '/Team/files/',
      '/team/FILES/',
      '//team/files/',
      '/team//files/',
      '/./team/files/',
      '/x/../team/files/',
      '/%74eam/files/',
      '/team%2Ffiles/',
      '/team/files%2F',
      '/team/files;x/',
      '/team/files#/',
      '/team\\files/',
      '/%zz',
      '*',
    ]) {
      for (const method of ['GET', 'POST', 'PROPFIND']) {
        const response = await send(service.port, path, { method });
        assertFailure(response, 404, /All routes of this service are below \/team\/files\/ \(BASE_PATH\)\.$/);
        assert.equal(jsonOf(response)['code'], 'unknown-route', path);
      }
    }
    assertFailure(
      await get(`${BASE}/-/outside-base-path`),
      404,
      'There is no route GET /team/files/-/outside-base-path.',
    );
  });

  it('accepts request targets in absolute form', async () => {
    const port = String(service.port);
    const target = `http://127.0.0.1:${port}${BASE}/file/photos/large%20%231.bin`;
    const { status, headers } = await get(target);
    assert.equal(status, 302);
    assert.ok(new URL(String(headers.location), target).pathname.startsWith(`${BASE}/-/signed/`));
    assertFailure(await get(`http://127.0.0.1:${port}/`), 404, /below \/team\/files\//);
    assertFailure(await get(`http://evil.example${BASE}/`), 400, /different hosts/);
    assertFailure(await get('http://evil.example/'), 400, /different hosts/);
  });

  it('names the path that the client sent, in errors and in the log', async () => {
    assertFailure(await get(`${BASE}/-/nothing?x=1`), 404, 'There is no route GET /team/files/-/nothing.');
    assertFailure(await get(`${BASE}/-/%zz`), 400, /not UTF-8/);
    const paths = service.log.filter(({ msg }) => msg === 'request').map(({ path }) => path);
    assert.deepEqual(paths.slice(-2), [`${BASE}/-/nothing`, `${BASE}/-/%zz`]);
  });
});

it('A base path is part of the URLs of CONTENT_ORIGIN', async (t) => {
  const contentOrigin = 'http://contents.example';
  const access = { mode: 'open', policy: () => OPEN_POLICY, authenticators: undefined } as const;
  const service = await startService(disk, { basePath: BASE, contentOrigin, access });
  t.after(() => service.stop());
  const body = Readable.from([Buffer.from('content')]);
  await service.store.write(parseFile('a.txt'), { body, type: 'text/plain' });
  const { headers } = await send(service.port, `${BASE}/file/a.txt`);
  const { origin, host, pathname, search } = new URL(String(headers.location));
  assert.deepEqual([origin, pathname], [contentOrigin, `${BASE}/-/signed/a.txt`]);
  const content = await send(service.port, pathname + search, { headers: { host } });
  assert.equal(content.body.toString(), 'content');
  assertFailure(await send(service.port, `${BASE}/`, { headers: { host } }), 404, /only serves file contents/);
});

describe('Access rules of a service with a base path', () => {
  it('apply to the path below it, in every spelling', async (t) => {
    const guarded = await startGuardedService(undefined, { basePath: BASE });
    t.after(() => guarded.stop());
    const secret = 'the secret of others';
    await guarded.plant({ 'mine/a.txt': 'mine', 'other/secret.txt': secret, 'team/files/mine/secret.txt': secret });
    guarded.grant(grant('mine/', ['read', 'write', 'manage']));
    assert.equal((await guarded.asAnn(`${BASE}/file/mine/a.txt`)).body.toString(), 'mine');
    const spellings = ['other/secret.txt', 'team/files/mine/secret.txt'].flatMap((goal) => [
      goal,
      ...representativesOf(goal, BASE),
    ]);
    for (const spelling of spellings) {
      for (const route of ['/file/', '/thumb/', '/', '/?prefix=', '/file/..']) {
        for (const base of [BASE, `${BASE}/`, `${BASE}/..${BASE}`, `${BASE}${BASE}`]) {
          const { status, body } = await guarded.asAnn(`${base}${route}${spelling}`);
          assert.ok(!body.includes(secret) && status < 500, `${status} ${base}${route}${spelling}`);
        }
      }
    }
    assert.equal((await guarded.contents())['other/secret.txt'], secret);
  });
});

describe('Signing in to a service with a base path', () => {
  const people = [person('ann', { password: hashForTest('right') })];
  const signIn = (port: number, headers: Record<string, string> = {}) =>
    postJson(port, `${BASE}/-/session`, { name: 'ann', password: 'right' }, headers);
  const cookieOf = ({ headers }: HttpResponse) => headers['set-cookie']?.[0] ?? '';

  it('sets a cookie of its own name, for the base path', async (t) => {
    const key = randomBytes(32);
    const service = await startSignedInService({ people, key, basePath: BASE });
    t.after(() => service.stop());
    const plain = cookieOf(await signIn(service.port));
    assert.match(plain, /^holdall-[\da-f]{8}=[\w.-]+; Max-Age=\d+; Path=\/team\/files; HttpOnly; SameSite=Lax$/);
    const secure = cookieOf(await signIn(service.port, { 'x-forwarded-proto': 'https' }));
    // Browsers accept `__Host-` only with the path "/".
    assert.match(secure, /^__Host-holdall-[\da-f]{8}=[\w.-]+; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Lax$/);

    const [pair = ''] = plain.split(';');
    const asked = (cookie: string, headers: Record<string, string> = {}) =>
      send(service.port, `${BASE}/-/session`, { headers: { cookie, ...headers } });
    // A service with the same key at another path of the host has a cookie of another name.
    const other = await startSignedInService({ people, key, basePath: '/team' });
    t.after(() => other.stop());
    const foreign = `${other.authenticators.sessionCookie}=x`;
    const response = await asked(`${foreign}; ${pair}`);
    assert.equal(jsonOf(response)['name'], 'ann');
    assert.equal(response.headers['set-cookie'], undefined);
    const crossSite = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
    assertFailure(await asked(pair, crossSite), 403, /Cross-site/);
    assert.equal((await asked(foreign, crossSite)).status, 200);
  });

  it('leads to the identity provider and back below the base path', async (t) => {
    const pair = await startPair({ basePath: BASE });
    t.after(() => pair.stop());
    const browser = createBrowser();
    const landed = await browser.visit(`${pair.publicUrl}/-/sign-in?return=${encodeURIComponent('?prefix=x/')}`);
    assert.equal(landed.url.href, `${pair.publicUrl}/?prefix=x/`);
    const session = await browser.send(pair.service.port, `${BASE}/-/session`);
    assert.equal(jsonOf(session)['name'], ANN.email);
    assertFailure(await send(pair.service.port, `${BASE}/-/sign-in?return=../x`), 400, /outside the service/);
  });
});

/** Returns the paths and queries of all links in an HTML response. */
function linksIn({ body }: HttpResponse, path: string): string[] {
  const links = [...body.toString().matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, link = '']) =>
    link.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))),
  );
  return links
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => new URL(link, `http://host${path}`))
    .map(({ pathname, search }) => pathname + search);
}

describe('A service whose proxy removes the path of its public URL', () => {
  it('has that path in Location headers', async (t) => {
    const service = await startService(disk, { hasJobs: true, publicUrl: 'https://files.example.org/files' });
    atEnd(t, () => service.stop());
    const at = (url: string) => new RegExp(`^/files${url}`);
    const put = await send(service.port, '/file/a.txt', { method: 'PUT', body: 'a' });
    assert.match(String(put.headers.location), at('/file/a.txt$'));
    const headers = { 'tus-resumable': '1.0.0', 'upload-length': '1', 'upload-metadata': 'path Yg==' };
    const whole = { ...headers, 'content-type': 'application/offset+octet-stream' };
    const tus = await send(service.port, '/-/uploads', { method: 'POST', headers: whole, body: 'b' });
    assert.match(String(tus.headers.location), at('/-/uploads/[\\da-f-]+$'));
    assert.match(String(tus.headers['content-location']), at('/file/b$'));
    const partial = { method: 'PUT', headers: { 'upload-complete': '?0' } };
    const begun = await send(service.port, '/file/b.txt', partial);
    assert.match(String(begun.headers.location), at('/-/uploads/[\\da-f-]+$'));
    await postJson(service.port, '/create_folder', { path: 'c' });
    const body = { source: 'c', destination: 'd', is_folder: true };
    const job = await postJson(service.port, '/move', body, { prefer: 'respond-async' });
    assert.match(String(job.headers.location), at('/-/jobs/[\\da-f-]+$'));
  });
});
