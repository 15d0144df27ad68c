import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, it } from 'node:test';
import { memory } from '../../contract/backend.ts';
import { assertFailure, begin, plant, send, upload } from '../client.ts';
import { served } from '../service.ts';

/** `GET` and `HEAD /file/{path}`. */
export function fetchSuite(): void {
  describe('Fetch', () => {
    describe('returns the file', fileTests);
    describe('ranges and preconditions', honoursRangesAndConditions);
    describe('the limit of 6 MB', limitTests);
    describe('returns 404 for other names', findsOnlyNamed);
  });
}

function serve(tree: Record<string, string | null> = {}) {
  const service = served(memory, {}, ({ port }) => plant(port, tree));
  return {
    upload: (path: string, content: Buffer | string) => upload(service.port, path, content),
    begin: (path: string) => begin(service.port, path),
    get: (path: string, headers: Record<string, string> = {}) => send(service.port, path, { headers }),
    head: (path: string, headers: Record<string, string> = {}) => send(service.port, path, { method: 'HEAD', headers }),
  };
}

/** Returns the headers that describe the file or the response, and not the connection. */
function ownHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { date: _date, connection: _connection, 'keep-alive': _alive, 'x-request-id': _id, ...rest } = headers;
  return rest;
}

const DIGITS = '0123456789';

function fileTests(): void {
  const service = serve({ 'a b/é.txt': DIGITS, empty: '', 'page.html': '<p>x</p>', noext: 'x' });
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

  it('returns Last-Modified in whole seconds', async () => {
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

  it('returns the old version of a file that is replaced during the download', async () => {
    const old = randomBytes(6_000_000);
    const { headers } = await service.upload('replaced.bin', old);
    const response = await service.begin('/file/replaced.bin').response;
    await service.upload('replaced.bin', 'new');
    assert.ok(Buffer.concat(await response.toArray()).equals(old));
    assert.equal(response.headers.etag, headers.etag);
    assert.equal((await service.get('/file/replaced.bin')).body.toString(), 'new');
  });
}

function honoursRangesAndConditions(): void {
  const service = serve({ 'digits.txt': DIGITS, empty: '' });
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

  it('evaluates modification times, alone and with a range', async () => {
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
      ...ofNow,
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

/** A store without download URLs sends smaller files only. tests/http/stores/wire.ts tests the redirects of other stores. */
function limitTests(): void {
  const service = serve();

  it('returns a file of 6,291,455 bytes, and 413 for a larger one', async () => {
    const bytes = randomBytes(LIMIT);
    await service.upload('below.bin', bytes.subarray(1));
    const { status, headers, body } = await service.get('/file/below.bin');
    assert.deepEqual([status, headers['content-length']], [200, '6291455']);
    assert.ok(body.equals(bytes.subarray(1)));
    assert.equal((await service.head('/file/below.bin')).headers['content-length'], '6291455');
    await service.upload('large.bin', bytes);
    const requests: readonly Record<string, string>[] = [{}, { range: 'bytes=-0' }, { 'if-none-match': '*' }];
    for (const more of requests) {
      assertFailure(await service.get('/file/large.bin', more), 413, /6291456 bytes.*6 MB/);
      assert.equal((await service.head('/file/large.bin', more)).status, 413);
    }
  });
}

function findsOnlyNamed(): void {
  const service = serve({ 'secret.txt': 'the secret', 'folder/inner.txt': 'inner', 'empty folder/': null });

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
