import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Backend } from '../../contract/backend.ts';
import { followLocation, type HttpResponse, postForm, send, upload } from '../client.ts';
import { type ServiceOptions, startService, type TestService } from '../service.ts';

/** The content isolation of files that the service redirects to, on every store. */
export function isolationSuite(backend: Backend): void {
  describe(`Isolation of contents: ${backend.name}`, () => {
    describe('the URL of a large file', () => isolatesLargeFiles(backend));
    describe('with CONTENT_ORIGIN', () => movesContents(backend));
  });
}

function serve(backend: Backend, files: Record<string, string | Buffer>, options?: ServiceOptions) {
  let service: TestService;
  before(async () => {
    service = await startService(backend, options);
    for (const [path, content] of Object.entries(files)) await upload(service.port, path, content);
  });
  after(() => service.stop());
  return {
    get service() {
      return service;
    },
    get: (path: string, headers?: Record<string, string>, method = 'GET') =>
      send(service.port, path, { method, headers }),
  };
}

const isAttachment = ({ headers }: HttpResponse) =>
  headers['content-disposition']?.startsWith('attachment; filename=') === true;

const HTML = '<!doctype html><script>alert(1)</script>';
const LARGE = Buffer.alloc(6 * 1024 * 1024, HTML);

function isolatesLargeFiles(backend: Backend): void {
  const served = serve(backend, {});

  it('returns a large file like a small one, by GET and HEAD, before and after a listing', async (test) => {
    const { port, hasDownloadUrls } = served.service;
    if (!hasDownloadUrls) return test.skip('large files have no download URLs');
    if (backend.lacks['urls-of-downloads']) return test.skip(backend.lacks['urls-of-downloads']);
    for (const [filename, type] of [
      ['a.html', 'text/html'],
      ['a.png', 'image/png'],
      ['said.html', 'image/png'],
      ['said.png', 'text/html'],
    ] as const) {
      await postForm(port, [{ name: 'file', filename, type, value: LARGE }]);
    }
    const located = async (path: string, method: string) => {
      const { headers } = await served.get(path, {}, method);
      const url = new URL(String(headers.location), `http://127.0.0.1:${port}${path}`);
      // The first bytes are enough.
      return send(Number(url.port), url.pathname + url.search, {
        method,
        headers: { host: url.host, ...(method === 'GET' && { range: 'bytes=0-9' }) },
      });
    };
    for (const look of ['', '/']) {
      if (look !== '') await served.get(look);
      for (const [name, type, isKept] of [
        ['a.html', /^text\/html/, true],
        ['a.png', /^image\/png$/, false],
        ['said.html', undefined, true],
        ['said.png', undefined, true],
      ] as const) {
        for (const method of ['GET', 'HEAD']) {
          if (backend.lacks['stored-types'] && type === undefined) continue;
          const response = await located(`/file/${name}`, method);
          assert.ok(response.status === 206 || method === 'HEAD');
          assert.equal(response.status, method === 'GET' ? 206 : 200);
          assert.equal(isAttachment(response), isKept, `${method} ${name} after ${look}`);
          if (type) assert.match(response.headers['content-type'] ?? '', type);
        }
      }
    }
  });
}

const ORIGIN = 'http://contents.localhost:8080';
const HOST = { host: 'contents.localhost:8080' };

function movesContents(backend: Backend): void {
  const served = serve(
    backend,
    { 'a b/é.txt': 'the text' },
    {
      contentOrigin: ORIGIN,
      publicUrl: 'https://files.example.org/below/',
      presignExpires: 604_800,
    },
  );

  it('serves a small file from there', async () => {
    const { status, headers } = await served.get('/file/a%20b/%C3%A9.txt');
    assert.equal(status, 302);
    const { origin, pathname, search } = new URL(String(headers.location));
    assert.equal(origin, ORIGIN);
    const response = await served.get(pathname + search, HOST);
    assert.deepEqual([response.status, response.body.toString()], [200, 'the text']);
  });

  it('redirects a large file to the store or to the content origin', async () => {
    await upload(served.service.port, 'large.txt', LARGE);
    const { status, headers } = await served.get('/file/large.txt');
    assert.equal(status, 302);
    const location = String(headers.location);
    const isThere = location.startsWith(ORIGIN) && location.includes('/-/signed/');
    const { pathname, search } = new URL(location);
    const response = isThere
      ? await served.get(pathname + search, HOST)
      : await followLocation(served.service.port, '/', location);
    assert.equal(response.status, 200);
    assert.ok(response.body.equals(LARGE));
  });
}
