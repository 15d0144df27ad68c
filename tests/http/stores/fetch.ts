import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { after, before, describe, it } from 'node:test';
import type { Store } from '../../../src/model/store.ts';
import type { Backend, Trait } from '../../contract/backend.ts';
import { assertFailure, begin, escapePath, followLocation, type HttpResponse, plant, send, upload } from '../client.ts';
import { type ServiceOptions, startService, type TestService } from '../service.ts';

/** `GET` and `HEAD /file/{path}`, on any store. */
export function fetchSuite(backend: Backend): void {
  describe(`Fetch: ${backend.name}`, () => {
    describe('returns the file', () => fileTests(backend));
    describe('ranges and preconditions', () => honoursRangesAndConditions(backend));
    describe('redirects at 6 MB', () => redirects(backend));
    describe('returns 404 for other names', () => findsOnlyNamed(backend));
  });
}

interface Served {
  readonly store: Store;
  readonly port: number;
  readonly hasDownloadUrls: boolean;
  get(path: string, headers?: Record<string, string>): Promise<HttpResponse>;
  head(path: string, headers?: Record<string, string>): Promise<HttpResponse>;
}

/** One service for all tests of a `describe`. */
function serve(backend: Backend, tree: Record<string, string | null>, options?: ServiceOptions): Served {
  let service: TestService;
  before(async () => {
    service = await startService(backend, options);
    await plant(service.port, tree);
  });
  after(() => service.stop());
  return {
    get port() {
      return service.port;
    },
    get store() {
      return service.store;
    },
    get hasDownloadUrls() {
      return service.hasDownloadUrls;
    },
    get: (path, headers) => send(service.port, path, { headers }),
    head: (path, headers) => send(service.port, path, { method: 'HEAD', headers }),
  };
}

/** Returns the headers that describe the file or the response, and not the connection. */
function ownHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { date: _date, connection: _connection, 'keep-alive': _alive, 'x-request-id': _id, ...rest } = headers;
  return rest;
}

const unless = (backend: Backend, trait: Trait) => ({ skip: backend.lacks[trait] ?? false });

const DIGITS = '0123456789';

function fileTests(backend: Backend): void {
  const service = serve(backend, { 'a b/é.txt': DIGITS, empty: '', 'page.html': '<p>x</p>', noext: 'x' });
  const PATH = '/file/a%20b/%C3%A9.txt';

  it('returns 200 with every byte, Content-Type, Content-Length, ETag and Accept-Ranges', async () => {
    const { status, headers, body } = await service.get(PATH);
    assert.equal(status, 200);
    assert.equal(body.toString(), DIGITS);
    assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
    assert.equal(headers['content-length'], '10');
    assert.match(String(headers.etag), /^"[^"]+"$/);
    assert.equal(headers['accept-ranges'], 'bytes');
    assert.equal(headers['content-range'], undefined);
    assert.equal(headers['transfer-encoding'], undefined);
    assert.match(String(headers['x-request-id']), /^[\w.:-]+$/);
  });

  it('returns Last-Modified in whole seconds', unless(backend, 'modification-times'), async () => {
    const { headers } = await service.get(PATH);
    const time = Date.parse(String(headers['last-modified']));
    assert.equal(new Date(time).toUTCString(), headers['last-modified']);
    assert.ok(Math.abs(Date.now() - time) < 60_000);
  });

  it('returns an empty file', async () => {
    const { status, headers, body } = await service.get('/file/empty');
    assert.deepEqual([status, headers['content-length'], body.length], [200, '0', 0]);
  });

  for (const [path, type] of [
    ['page.html', 'text/html; charset=utf-8'],
    ['noext', 'application/octet-stream'],
  ] as const) {
    it(`${path} has the type ${type}`, async () => {
      assert.equal((await service.get(`/file/${path}`)).headers['content-type'], type);
    });
  }

  it('HEAD returns the headers of GET without a body', async () => {
    for (const path of [PATH, `${PATH}?download=1`, '/file/empty', '/file/missing', '/file/a%20b', '/file/a//b']) {
      const [whole, head] = [await service.get(path), await service.head(path)];
      assert.equal(head.status, whole.status);
      assert.equal(head.body.length, 0);
      assert.deepEqual(ownHeaders(head.headers), ownHeaders(whole.headers));
    }
  });

  it(
    'returns the old version of a file that is replaced during the download',
    unless(backend, 'replacements'),
    async () => {
      const old = randomBytes(6_000_000);
      const { headers } = await upload(service.port, 'replaced.bin', old);
      const response = await begin(service.port, '/file/replaced.bin').response;
      await upload(service.port, 'replaced.bin', 'new');
      assert.ok(Buffer.concat(await response.toArray()).equals(old));
      assert.equal(response.headers.etag, headers.etag);
      assert.equal((await service.get('/file/replaced.bin')).body.toString(), 'new');
    },
  );
}

/**
 * Parses the file name in an attachment's header (RFC 6266, section 4.1; RFC 8187, section 3.2.1). Fails if there is
 * none.
 */
function nameIn(header: string | undefined): string {
  const match =
    /^attachment; filename="((?:[^"\\]|\\["\\])*)"; filename\*=UTF-8''((?:[\w!#$&+.^`|~-]|%[\dA-F]{2})+)$/.exec(
      header ?? '',
    );
  if (!match) assert.fail(`No attachment: ${header}`);
  assert.match(String(match[1]), /^[\x20-\x7e]*$/);
  return decodeURIComponent(String(match[2]));
}

function honoursRangesAndConditions(backend: Backend): void {
  const service = serve(backend, { 'digits.txt': DIGITS, empty: '' });
  const PATH = '/file/digits.txt';

  it('returns 206 with the range, and 416 with the size for a range after the end', async () => {
    const whole = await service.get(PATH);
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 0],
      ['bytes=3-5', 3, 5],
      ['bytes=9-', 9, 9],
      ['bytes=5-99', 5, 9],
      ['bytes=-3', 7, 9],
      ['bytes=-99', 0, 9],
    ] as const) {
      const { status, headers, body } = await service.get(PATH, { range });
      assert.deepEqual([status, body.toString()], [206, DIGITS.slice(start, end + 1)], range);
      assert.deepEqual(ownHeaders(headers), {
        ...ownHeaders(whole.headers),
        'content-range': `bytes ${start}-${end}/10`,
        'content-length': String(end - start + 1),
      });
    }
    for (const [path, range, size] of [
      [PATH, 'bytes=10-', 10],
      [PATH, 'bytes=-0', 10],
      ['/file/empty', 'bytes=0-', 0],
    ] as const) {
      const response = await service.get(path, { range });
      assertFailure(response, 416, new RegExp(`${size} bytes`));
      assert.equal(response.headers['content-range'], `bytes */${size}`);
    }
  });

  it('evaluates etags, alone and with a range', async () => {
    const etag = String((await service.get(PATH)).headers.etag);
    for (const [status, headers] of [
      [304, { 'if-none-match': etag }],
      [200, { 'if-none-match': '"other"' }],
      [200, { 'if-match': etag }],
      [412, { 'if-match': '"other"' }],
      [206, { 'if-match': etag, 'if-range': etag, range: 'bytes=0-1' }],
      [200, { 'if-range': '"other"', range: 'bytes=0-1' }],
      [304, { 'if-none-match': etag, range: 'bytes=99-' }],
      [416, { 'if-range': etag, range: 'bytes=99-' }],
    ] as const) {
      assert.equal((await service.get(PATH, headers)).status, status, JSON.stringify(headers));
    }
  });

  it('evaluates modification times, alone and with a range', unless(backend, 'modification-times'), async () => {
    const modified = String((await service.get(PATH)).headers['last-modified']);
    const [earlier, later] = [-1, 1].map((hours) => new Date(Date.parse(modified) + hours * 3_600_000).toUTCString());
    const ofNow: readonly (readonly [number, Record<string, string>])[] = [
      [304, { 'if-modified-since': modified }],
      [200, { 'if-unmodified-since': modified }],
      [206, { 'if-range': modified, range: 'bytes=0-1' }],
    ];
    for (const [status, headers] of [
      [200, { 'if-modified-since': String(earlier) }],
      [304, { 'if-modified-since': String(later) }],
      [412, { 'if-unmodified-since': String(earlier) }],
      [200, { 'if-range': String(earlier), range: 'bytes=0-1' }],
      ...(backend.lacks['past-times'] ? [] : ofNow),
    ] as const) {
      assert.equal((await service.get(PATH, headers)).status, status, JSON.stringify(headers));
    }
  });

  it('returns 404 for a missing file with a range or a precondition', async () => {
    for (const name of ['range', 'if-match', 'if-none-match'])
      assertFailure(
        await service.get('/file/missing', { [name]: name === 'range' ? 'bytes=0-1' : '*' }),
        404,
        /missing/,
      );
  });
}

const LIMIT = 6 * 1024 * 1024;
const LARGE = 'large folder/50% é"#?.txt';

function redirects(backend: Backend): void {
  const bytes = randomBytes(LIMIT);
  const service = serve(backend, {});
  before(async () => {
    await upload(service.port, 'below.bin', bytes.subarray(1));
    await upload(service.port, LARGE, bytes);
  });
  const PATH = `/file/${escapePath(LARGE)}`;

  it('returns a file of 6,291,455 bytes directly', async () => {
    assert.equal(bytes.length - 1, 6_291_455);
    const { status, headers, body } = await service.get('/file/below.bin');
    assert.deepEqual([status, headers['content-length']], [200, '6291455']);
    assert.ok(body.equals(bytes.subarray(1)));
    assert.equal((await service.head('/file/below.bin')).headers['content-length'], '6291455');
  });

  for (const method of ['GET', 'HEAD']) {
    it(`${method}: returns 302 with no-store for 6,291,456 bytes, or 413 without download URLs`, async () => {
      for (const [name, value] of [
        ['accept', '*/*'],
        ['range', 'bytes=0-9'],
        ['if-none-match', '*'],
        ['if-match', '"other"'],
      ] as const) {
        const response = await send(service.port, PATH, { method, headers: { [name]: value } });
        if (service.hasDownloadUrls) {
          assert.equal(response.status, 302);
          assert.equal(response.headers['cache-control'], 'no-store');
          assert.ok(response.headers.location);
          assert.equal(response.body.length, 0);
        } else {
          assert.equal(response.status, 413);
          if (method === 'GET') assertFailure(response, 413, /6291456 bytes.*6 MB/);
        }
      }
    });
  }

  it('redirects requests with an unsatisfiable range too', async () => {
    for (const range of ['bytes=99999999-', 'bytes=-0']) {
      assert.equal((await service.get(PATH, { range })).status, service.hasDownloadUrls ? 302 : 413);
    }
  });

  it('Location returns the same bytes and ranges', async (test) => {
    if (!service.hasDownloadUrls) return test.skip('large files have no download URLs');
    const lasting = (await service.get(PATH)).headers.location ?? '';
    const follow = async (headers?: Record<string, string>) => {
      const location = backend.lacks['lasting-urls'] ? (await service.get(PATH)).headers.location : lasting;
      return followLocation(service.port, PATH, location ?? '', headers);
    };
    const whole = await follow();
    assert.equal(whole.status, 200);
    assert.ok(whole.body.equals(bytes));
    const part = await follow({ range: 'bytes=6291450-' });
    assert.deepEqual([part.status, part.headers['content-range']], [206, 'bytes 6291450-6291455/6291456']);
    assert.ok(part.body.equals(bytes.subarray(6_291_450)));
  });

  it('Location of a HEAD request answers HEAD with the headers of the file', async (test) => {
    if (!service.hasDownloadUrls) return test.skip('large files have no download URLs');
    const location = (await service.head(PATH)).headers.location ?? '';
    const { port, pathname, search, host } = new URL(location, `http://127.0.0.1:${service.port}${PATH}`);
    const response = await send(Number(port), pathname + search, { method: 'HEAD', headers: { host } });
    assert.deepEqual([response.status, response.headers['content-length'], response.body.length], [200, '6291456', 0]);
  });

  it('keeps ?download=1 in the redirect', async (test) => {
    if (!service.hasDownloadUrls) return test.skip('large files have no download URLs');
    const path = `${PATH}?download=1`;
    const location = (await service.get(path)).headers.location ?? '';
    const { status, headers } = await followLocation(service.port, path, location, { range: 'bytes=0-0' });
    assert.equal(status, 206);
    if (backend.lacks['urls-of-downloads']) return test.skip(backend.lacks['urls-of-downloads']);
    assert.equal(nameIn(headers['content-disposition']), LARGE.split('/').at(-1));
    const plain = (await service.get(PATH)).headers.location ?? '';
    const shown = await followLocation(service.port, PATH, plain, { range: 'bytes=0-0' });
    assert.doesNotMatch(shown.headers['content-disposition'] ?? 'inline', /attachment/);
  });
}

function findsOnlyNamed(backend: Backend): void {
  const service = serve(backend, { 'secret.txt': 'the secret', 'folder/inner.txt': 'inner', 'empty folder/': null });

  for (const path of [
    'missing',
    'missing/deep/x.txt',
    'folder',
    'empty%20folder',
    'folder/missing.txt',
    'secret.txt/x',
    'Secret.txt',
    'secret.txt%20',
    'secret',
    ' secret.txt'.replace(' ', '%20'),
  ]) {
    it(`/file/${path} returns 404 with the path`, async () =>
      assertFailure(
        await service.get(`/file/${path}`),
        404,
        `The file ${JSON.stringify(decodeURIComponent(path))} does not exist.`,
      ));
  }
}
