import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PERMISSIONS_POLICY } from '../../../src/http/headers.ts';
import { memory } from '../../contract/backend.ts';
import { assertFailure, escapePath, type HttpResponse, postForm, send, upload } from '../client.ts';
import { type ServiceOptions, served } from '../service.ts';

/** One service for all tests of a `describe`. */
function serve(files: Record<string, string | Buffer>, options?: ServiceOptions) {
  const service = served(memory, options, async () => {
    for (const [path, content] of Object.entries(files)) await upload(service.port, path, content);
  });
  return {
    get service() {
      return service;
    },
    get: (path: string, headers?: Record<string, string>, method = 'GET') =>
      send(service.port, path, { method, headers }),
  };
}

const GENERAL = { 'x-content-type-options': 'nosniff', 'cross-origin-resource-policy': 'same-origin' } as const;

function assertHeaders(
  { headers }: HttpResponse,
  expected: Readonly<Record<string, string | undefined>>,
  about: string,
) {
  for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value, `${about}: ${name}`);
}

const policyOf = ({ headers }: HttpResponse) => String(headers['content-security-policy']).split('; ');

const isAttachment = ({ headers }: HttpResponse) =>
  headers['content-disposition']?.startsWith('attachment; filename=') === true;

const HTML = '<!doctype html><script>alert(1)</script>';

function isolatesFiles(): void {
  const shown = ['a.txt', 'a.png', 'a.pdf', 'a.mp4', 'a.mp3', 'a.html.txt'];
  const kept = [
    'a.html',
    'a.svg',
    'a.xml',
    'a.xhtml',
    'a.js',
    'a.epub',
    'a.json',
    'a.md',
    'a',
    'a.txt.html',
    'a.html ',
  ];
  const isolated = serve(Object.fromEntries([...shown, ...kept].map((name) => [name, HTML])));

  it('displays only files of inert types, and sends all others as attachments', async () => {
    for (const [names, expected] of [
      [shown, false],
      [kept, true],
    ] as const) {
      for (const name of names)
        assert.equal(isAttachment(await isolated.get(`/file/${escapePath(name)}`)), expected, name);
    }
  });

  it('trusts neither the media type nor the file name of an upload', async () => {
    for (const [filename, type] of [
      ['said.html', 'image/png'],
      ['said.svg', 'text/plain'],
      ['said.png', 'text/html'],
      ['said.txt', 'image/svg+xml'],
      ['said.pdf', 'application/xhtml+xml'],
      ['said', 'image/png'],
    ] as const) {
      await postForm(isolated.service.port, [{ name: 'file', filename, type, value: HTML }]);
      const response = await isolated.get(`/file/${filename}`);
      assert.ok(isAttachment(response), `${filename}, ${type}`);
      assert.equal(policyOf(response)[0], 'sandbox');
    }
  });

  it('has the isolation headers on 200, 206, 304 and HEAD responses', async () => {
    for (const name of [...shown, ...kept]) {
      const path = `/file/${escapePath(name)}`;
      const whole = await isolated.get(path);
      const policy = policyOf(whole);
      assert.ok(policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'self'"), name);
      assert.equal(
        policy.some((directive) => directive.startsWith('sandbox')),
        name !== 'a.pdf',
        name,
      );
      const expected = {
        ...GENERAL,
        'permissions-policy': PERMISSIONS_POLICY,
        'referrer-policy': 'no-referrer',
        'content-security-policy': policy.join('; '),
        'content-disposition': whole.headers['content-disposition'],
      };
      for (const [status, response] of [
        [200, whole],
        [206, await isolated.get(path, { range: 'bytes=0-3' })],
        [200, await isolated.get(path, {}, 'HEAD')],
        [304, await isolated.get(path, { 'if-none-match': String(whole.headers.etag) })],
      ] as const) {
        assert.equal(response.status, status);
        assertHeaders(response, expected, `${name}, ${status}`);
      }
    }
  });

  it('returns failures without headers of the file', async () => {
    const response = await isolated.get('/file/a.html', { range: 'bytes=99999-' });
    assertFailure(response, 416, /bytes/);
    assertHeaders(response, { ...GENERAL, 'content-disposition': undefined }, '416');
  });
}

function isolatesResponses(): void {
  const isolated = serve({ 'a.txt': 'text' });

  it('have nosniff and a same-origin resource policy', async () => {
    for (const [path, status, headers, method] of [
      ['/', 200, {}, 'GET'],
      ['/', 200, { accept: 'text/html' }, 'GET'],
      ['/-/health/live', 200, {}, 'GET'],
      ['/-/openapi.json', 200, {}, 'GET'],
      ['/-/docs', 200, {}, 'GET'],
      ['/-/docs/api-reference.js', 200, {}, 'GET'],
      ['/-/nothing', 404, {}, 'GET'],
      ['/missing/', 404, { accept: 'text/html' }, 'GET'],
      ['/file/missing', 404, {}, 'GET'],
      ['/thumb/a.txt', 400, {}, 'GET'],
      ['/upload', 405, {}, 'GET'],
      ['/upload', 204, {}, 'OPTIONS'],
      ['/%ff', 400, {}, 'GET'],
      ['/', 417, { expect: 'nothing' }, 'GET'],
    ] as const) {
      const response = await isolated.get(path, headers, method);
      assert.equal(response.status, status, `${method} ${path}`);
      assertHeaders(response, GENERAL, `${method} ${path}`);
    }
  });
}

const ORIGIN = 'http://contents.localhost:8080';
const HOST = { host: 'contents.localhost:8080' };

function movesContents(): void {
  const files = { 'a b/é.txt': 'the text', 'a.html': HTML, 'a.pdf': '%PDF-1.4' };
  const options = {
    contentOrigin: ORIGIN,
    publicUrl: 'https://files.example.org/below/',
    // The maximum of object stores, so that the URLs do not change during the tests.
    presignExpires: 604_800,
  };
  const isolated = serve(files, options);

  const located = async (path: string, headers = {}, method = 'GET') => {
    const response = await isolated.get(path, headers, method);
    assert.equal(response.status, 302);
    assertHeaders(response, { 'cache-control': 'no-store' }, path);
    const url = new URL(String(response.headers.location));
    assert.equal(url.origin, ORIGIN);
    return url.pathname + url.search;
  };

  it('redirects all files there, with URLs that are stable for a while', async () => {
    const path = '/file/a%20b/%C3%A9.txt';
    const url = await located(path);
    assert.match(url, /^\/-\/signed\/a%20b\/%C3%A9\.txt\?/);
    assert.equal(await located(path, { range: 'bytes=0-3' }), await located(path, {}, 'HEAD'));
    const response = await isolated.get(url, HOST);
    assert.deepEqual([response.status, response.body.toString()], [200, 'the text']);
    assertFailure(await isolated.get('/file/missing'), 404, /missing/);
    assert.ok(isAttachment(await isolated.get(await located(`${path}?download=1`), HOST)));
  });

  it('allows every page to read contents, and only the service to frame them', async () => {
    for (const [name, isKept] of [
      ['a.html', true],
      ['a.pdf', false],
    ] as const) {
      const url = await located(`/file/${name}`);
      for (const [method, headers] of [
        ['GET', {}],
        ['HEAD', {}],
        ['GET', { range: 'bytes=0-2' }],
        ['GET', { 'if-none-match': '*' }],
      ] as const) {
        const response = await isolated.get(url, { ...HOST, ...headers }, method);
        assert.ok(response.status < 400);
        assertHeaders(
          response,
          {
            'x-content-type-options': 'nosniff',
            'cross-origin-resource-policy': 'cross-origin',
            'access-control-allow-origin': '*',
            'access-control-allow-credentials': undefined,
            'set-cookie': undefined,
          },
          `${method} ${name}`,
        );
        assert.match(String(response.headers['access-control-expose-headers']), /Content-Range/);
        assert.ok(policyOf(response).includes('frame-ancestors https://files.example.org'));
        assert.equal(isAttachment(response), isKept);
      }
    }
  });

  it('returns failures with CORS headers', async () => {
    const response = await isolated.get('/-/signed/a.html?expires=1&signature=x', HOST);
    assertFailure(response, 403, /not valid/);
    assertHeaders(response, { 'access-control-allow-origin': '*' }, '403');
  });

  it('allows the Range header in a CORS preflight', async () => {
    const requesting = { origin: 'https://files.example.org', 'access-control-request-method': 'GET' };
    const url = await located('/file/a.html');
    const response = await isolated.get(
      url,
      { ...HOST, ...requesting, 'access-control-request-headers': 'range' },
      'OPTIONS',
    );
    assert.equal(response.status, 204);
    assert.match(String(response.headers['access-control-allow-headers']), /\bRange\b/);
    assertHeaders(response, { 'access-control-allow-methods': 'GET, HEAD' }, 'OPTIONS');
  });

  it('returns 404 for everything else there, whatever the spelling of the host', async () => {
    for (const host of [
      'contents.localhost:8080',
      'CONTENTS.LOCALHOST:8080',
      'contents.localhost.:08080',
      'contents.localhost:8081',
      'contents.localhost',
    ]) {
      for (const path of [
        '/',
        '/a%20b/',
        '/file/a.html',
        '/thumb/a.html',
        '/-/openapi.json',
        '/-/docs',
        '/-/nothing',
        '/%zz',
        '/-/signed/%zz',
      ]) {
        const response = await isolated.get(path, { host });
        assertFailure(response, 404, /only serves file contents/);
        assertHeaders(response, { 'access-control-allow-origin': '*' }, path);
      }
      for (const [method, path] of [
        ['POST', '/upload'],
        ['DELETE', '/delete/a.html'],
      ] as const) {
        assertFailure(await isolated.get(path, { host }, method), 404, /only serves file contents/);
      }
      assert.equal((await isolated.get('/-/health/live', { host })).status, 200);
    }
  });

  it('serves no contents from other hosts', async () => {
    const url = await located('/file/a.html');
    for (const host of [`127.0.0.1:${isolated.service.port}`, 'localhost', 'contents.localhost.example']) {
      assertFailure(await isolated.get(url, { host }), 404, /CONTENT_ORIGIN/);
    }
  });

  it('the content security policy of the page allows the origin', async () => {
    const { headers } = await isolated.get('/', { accept: 'text/html' });
    for (const directive of ['img-src', 'media-src', 'connect-src', 'frame-src']) {
      const sources = String(headers['content-security-policy'])
        .split('; ')
        .find((each) => each.startsWith(directive));
      assert.ok(sources?.split(' ').includes(ORIGIN), directive);
    }
  });
}

describe('isolation of contents', () => {
  describe('/file/', isolatesFiles);
  describe('responses without file contents', isolatesResponses);
  describe('with CONTENT_ORIGIN', movesContents);
});
