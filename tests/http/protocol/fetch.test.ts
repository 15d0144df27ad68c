import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, it } from 'node:test';
import type { Store } from '../../../src/model/store.ts';
import { type Backend, disk, memory } from '../../contract/backend.ts';
import { NAMES } from '../../contract/names.ts';
import { assertFailure, escapePath, type HttpResponse, plant, send, upload } from '../client.ts';
import { type ServiceOptions, served, startService } from '../service.ts';

interface Served {
  readonly store: Store;
  readonly port: number;
  get(path: string, headers?: Record<string, string>): Promise<HttpResponse>;
  head(path: string, headers?: Record<string, string>): Promise<HttpResponse>;
}

/** Starts one service with these files for all tests of a `describe`. */
function serve(tree: Record<string, string | null>, options?: ServiceOptions, backend = memory): Served {
  const service = served(backend, options, async () => {
    await plant(service.port, tree);
  });
  return {
    get port() {
      return service.port;
    },
    get store() {
      return service.store;
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

const DIGITS = '0123456789';

function checksRequest(): void {
  const service = serve({ 'a b/é.txt': DIGITS });
  const PATH = '/file/a%20b/%C3%A9.txt';

  it('returns 403 when a page loads the file as a script or style, and 200 when it displays the file', async () => {
    const requested = (site: string, destination: string) =>
      service.get(PATH, { 'sec-fetch-site': site, 'sec-fetch-dest': destination });
    for (const destination of ['script', 'style', 'worker', 'sharedworker', 'serviceworker'])
      assertFailure(await requested('same-origin', destination), 403, new RegExp(destination));
    for (const destination of ['image', 'video', 'iframe', 'document', 'empty'])
      assert.equal((await requested('same-origin', destination)).status, 200, destination);
  });

  it('HEAD ignores Range, which is defined only for GET (section 14.2)', async () => {
    for (const range of ['bytes=0-3', 'bytes=99-']) {
      const { status, headers } = await service.head(PATH, { range });
      assert.deepEqual([status, headers['content-length'], headers['content-range']], [200, '10', undefined]);
    }
  });
}

function rangeTests(): void {
  const service = serve({ 'digits.txt': DIGITS, empty: '' });
  const PATH = '/file/digits.txt';

  for (const [range, start, end] of [
    ['bytes=0-0', 0, 0],
    ['bytes=3-5', 3, 5],
    ['bytes=0-9', 0, 9],
    ['bytes=0-', 0, 9],
    ['bytes=9-', 9, 9],
    ['bytes=5-99', 5, 9],
    ['bytes=0-999999999999999', 0, 9],
    ['bytes=-1', 9, 9],
    ['bytes=-3', 7, 9],
    ['bytes=-10', 0, 9],
    ['bytes=-99', 0, 9],
    ['BYTES=0-1', 0, 1],
  ] as const) {
    it(`${range} returns 206 with bytes ${start} to ${end}`, async () => {
      const whole = await service.get(PATH);
      const { status, headers, body } = await service.get(PATH, { range });
      assert.equal(status, 206);
      assert.equal(body.toString(), DIGITS.slice(start, end + 1));
      assert.deepEqual(ownHeaders(headers), {
        ...ownHeaders(whole.headers),
        'content-range': `bytes ${start}-${end}/10`,
        'content-length': String(end - start + 1),
      });
    });
  }

  for (const range of ['bytes=10-', 'bytes=10-20', 'bytes=999999999999999-', 'bytes=-0']) {
    it(`${range} returns 416 with the size`, async () => {
      const response = await service.get(PATH, { range });
      assertFailure(response, 416, /10 bytes/);
      assert.equal(response.headers['content-range'], 'bytes */10');
    });
  }

  it('returns 416 for a range of an empty file', async () => {
    const response = await service.get('/file/empty', { range: 'bytes=0-' });
    assertFailure(response, 416, /0 bytes/);
    assert.equal(response.headers['content-range'], 'bytes */0');
  });

  for (const range of [
    'bytes=0-1,3-4',
    'bytes=0-1, -2',
    'bytes=5-3',
    'bytes=',
    'bytes=-',
    'bytes=a-b',
    'bytes=1-2-3',
    'bytes=--1',
    'bytes=+1-2',
    'bytes=0x0-1',
    'bytes=1.0-2',
    'bytes 0-1',
    'items=0-1',
    '0-1',
  ]) {
    it(`${range} is ignored and returns 200 with the whole file`, async () => {
      const { status, headers, body } = await service.get(PATH, { range });
      assert.deepEqual([status, body.toString(), headers['content-range']], [200, DIGITS, undefined]);
    });
  }

  it('returns 404 for a range of a missing file', async () =>
    assertFailure(await service.get('/file/missing', { range: 'bytes=0-1' }), 404, /missing/));

  const range = 'bytes=2-3';
  const statusWith = async (ifRange: string, requested = range) =>
    (await service.get(PATH, { range: requested, 'if-range': ifRange })).status;

  it('returns the range for If-Range with the etag, and the whole file for other, weak or malformed etags', async () => {
    const { headers } = await service.get(PATH);
    const etag = String(headers.etag);
    assert.equal(await statusWith(etag), 206);
    for (const other of ['"other"', `W/${etag}`, etag.slice(1, -1), `${etag}, "other"`, '*', '']) {
      assert.equal(await statusWith(other), 200, other);
    }
  });

  it('returns the range for If-Range with Last-Modified, and the whole file for other dates', async () => {
    const { headers } = await service.get(PATH);
    const modified = String(headers['last-modified']);
    assert.equal(await statusWith(modified), 206);
    for (const hours of [-1, 1]) assert.equal(await statusWith(shifted(modified, hours)), 200);
  });

  it('evaluates If-Range before the range', async () => {
    const { headers } = await service.get(PATH);
    assert.equal(await statusWith('"other"', 'bytes=99-'), 200);
    assert.equal(await statusWith(String(headers.etag), 'bytes=99-'), 416);
  });

  it('ignores If-Range without Range', async () => {
    const { status, body } = await service.get(PATH, { 'if-range': '"other"' });
    assert.deepEqual([status, body.toString()], [200, DIGITS]);
  });
}

const shifted = (date: string, hours: number) => new Date(Date.parse(date) + hours * 3_600_000).toUTCString();

function honoursConditions(): void {
  const service = serve({ 'x.txt': DIGITS });
  const PATH = '/file/x.txt';
  /**
   * Each row: the status that RFC 9110 requires, the request headers, and the rule. ETAG stands for the etag, NOW for
   * the time of the file, BEFORE and AFTER for an hour before and after.
   */
  type Row = readonly [status: 200 | 206 | 304 | 412, sent: readonly string[], rule: string];
  const BODIES = { 200: DIGITS, 206: '01', 304: '' };

  const table = (rows: readonly Row[]) => {
    for (const [status, sent, rule] of rows) {
      it(`${rule}: ${sent.join(', ')} returns ${status}`, async () => {
        const now = (await service.get(PATH)).headers;
        const modified = now['last-modified'] ?? new Date().toUTCString();
        const fill = (text: string) =>
          text
            .replace('ETAG', String(now.etag))
            .replace('NOW', modified)
            .replace('BEFORE', shifted(modified, -1))
            .replace('AFTER', shifted(modified, 1));
        const headers = Object.fromEntries(
          sent.map((line) =>
            fill(line)
              .split(/: (.*)/)
              .slice(0, 2),
          ),
        );
        const [response, head] = [await service.get(PATH, headers), await service.head(PATH, headers)];
        assert.equal(response.status, status);
        assert.equal(head.status, status === 206 ? 200 : status);
        assert.equal(head.body.length, 0);
        if (status === 412) return assertFailure(response, 412, /ETag/);
        assert.equal(response.body.toString(), BODIES[status]);
        for (const name of ['etag', 'last-modified', 'cache-control'] as const) {
          assert.equal(response.headers[name], now[name], name);
        }
        assert.equal(response.headers['content-range'], status === 206 ? 'bytes 0-1/10' : undefined);
        // A cache updates its stored headers from a 304 response (RFC 9111, section 3.2).
        assert.equal(response.headers['content-type'], status === 304 ? undefined : now['content-type']);
      });
    }
  };

  const PART = 'Range: bytes=0-1';
  const NO_PART = 'Range: bytes=99-';
  table([
    [304, ['If-None-Match: ETAG'], 'the same file is not sent again'],
    [304, ['If-None-Match: W/ETAG'], 'If-None-Match compares weakly'],
    [304, ['If-None-Match: "a,b", W/"c" ,ETAG'], 'If-None-Match is a list'],
    [304, ['If-None-Match: *'], 'a star is every file'],
    [200, ['If-None-Match: "other", W/"another"'], 'another file is sent'],
    [200, ['If-None-Match: "xETAG'], 'an etag is compared as a whole'],
    [200, ['If-None-Match: other'], 'what has no quotes is no etag'],
    [200, ['If-Match: ETAG'], 'the version that is asked for is sent'],
    [200, ['If-Match: "other", ETAG'], 'If-Match is a list'],
    [200, ['If-Match: *'], 'a star is every file'],
    [412, ['If-Match: "other"'], 'another version is refused'],
    [412, ['If-Match: W/ETAG'], 'If-Match compares strongly'],
    [304, ['If-Match: ETAG', 'If-None-Match: ETAG'], 'both conditions count'],
    [412, ['If-Match: "other"', 'If-None-Match: ETAG'], 'If-Match goes first'],
    [304, ['If-None-Match: ETAG', PART], 'If-None-Match goes before Range'],
    [304, ['If-None-Match: ETAG', NO_PART], 'If-None-Match goes before Range'],
    [412, ['If-Match: "other"', NO_PART], 'If-Match goes before Range'],
    [206, ['If-None-Match: "other"', PART], 'a range of what has changed is sent'],
    [206, ['If-Match: ETAG', PART], 'a range of the right version is sent'],
    [304, ['If-None-Match: ETAG', 'If-Range: "other"', PART], 'If-None-Match goes before If-Range'],
    [206, ['If-Match: ETAG', 'If-Range: ETAG', PART], 'If-Range goes last'],
    [200, ['If-Match: ETAG', 'If-Range: "other"', PART], 'If-Range goes last'],
    [200, ['If-None-Match: "other"', 'If-Modified-Since: AFTER'], 'the etag goes instead of the time'],
    [304, ['If-None-Match: ETAG', 'If-Modified-Since: BEFORE'], 'the etag goes instead of the time'],
    [200, ['If-Match: ETAG', 'If-Unmodified-Since: BEFORE'], 'the etag goes instead of the time'],
    ...['yesterday', '2094-01-01T00:00:00Z', '0', 'Sun, 99 Nov 2094 08:49:37 GMT'].map(
      (date): Row => [200, [`If-Modified-Since: ${date}`], 'what is no date is ignored'],
    ),
    ...['yesterday', '1994-11-06', 'Before 5'].map(
      (date): Row => [200, [`If-Unmodified-Since: ${date}`], 'what is no date is ignored'],
    ),
  ]);
  table([
    [304, ['If-Modified-Since: NOW'], 'not modified since its own time'],
    [304, ['If-Modified-Since: AFTER'], 'not modified since a later time'],
    [200, ['If-Modified-Since: BEFORE'], 'modified since an earlier time'],
    [200, ['If-Unmodified-Since: NOW'], 'not modified since its own time'],
    [200, ['If-Unmodified-Since: AFTER'], 'not modified since a later time'],
    [412, ['If-Unmodified-Since: BEFORE'], 'modified since an earlier time'],
    [412, ['If-Match: "other"', 'If-Unmodified-Since: AFTER'], 'the etag goes instead of the time'],
    [412, ['If-Unmodified-Since: BEFORE', 'If-None-Match: ETAG'], 'If-Unmodified-Since goes first'],
    [412, ['If-Unmodified-Since: BEFORE', 'If-Modified-Since: AFTER'], 'If-Unmodified-Since goes first'],
    [304, ['If-Unmodified-Since: AFTER', 'If-Modified-Since: AFTER'], 'both conditions count'],
    [304, ['If-Modified-Since: NOW', PART], 'If-Modified-Since goes before Range'],
    [206, ['If-Modified-Since: BEFORE', PART], 'a range of what has changed is sent'],
  ]);

  it('parses dates in both obsolete formats as GMT (section 5.6.7)', async () => {
    const { headers } = await service.get(PATH);
    const modified = String(headers['last-modified']);
    const zone = process.env['TZ'];
    process.env['TZ'] = 'America/New_York';
    try {
      for (const form of [inRfc850, inAsctime]) {
        const statusSince = async (date: string) =>
          (await service.get(PATH, { 'if-modified-since': form(date) })).status;
        assert.equal(await statusSince(modified), 304, form(modified));
        assert.equal(await statusSince(shifted(modified, -1)), 200, form(shifted(modified, -1)));
      }
    } finally {
      if (zone === undefined) delete process.env['TZ'];
      else process.env['TZ'] = zone;
    }
  });

  it('returns 404 for a missing file with a precondition', async () => {
    for (const [name, value] of [
      ['if-match', '*'],
      ['if-none-match', '*'],
      ['if-match', '"other"'],
    ] as const) {
      assertFailure(await service.get('/file/missing', { [name]: value }), 404, /missing/);
    }
  });
}

/** `Sunday, 06-Nov-94 08:49:37 GMT` */
function inRfc850(date: string): string {
  const weekday = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }).format(new Date(date));
  return date.replace(/^\w+, (\d+) (\w+) \d\d(\d\d)/, `${weekday}, $1-$2-$3`);
}

/** `Sun Nov  6 08:49:37 1994` */
function inAsctime(date: string): string {
  return date.replace(/^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/, '$1 $3 $2 $5 $4').replace(/^(\w+ \w+) 0/, '$1  ');
}

function nameIn(header: string | undefined): string {
  const match =
    /^attachment; filename="((?:[^"\\]|\\["\\])*)"; filename\*=UTF-8''((?:[\w!#$&+.^`|~-]|%[\dA-F]{2})+)$/.exec(
      header ?? '',
    );
  if (!match) assert.fail(`No attachment: ${header}`);
  assert.match(String(match[1]), /^[\x20-\x7e]*$/);
  return decodeURIComponent(String(match[2]));
}

function attachmentTests(): void {
  const service = serve({});

  it('has the whole file name, without header injection', async () => {
    const hostile = ['x"; filename="y', "x'; filename*=UTF-8''y", 'a\\";b', '\u0080\u0085', 'é'.normalize('NFD')];
    for (const name of [...NAMES, ...hostile]) {
      await upload(service.port, `names/${name}`, name);
      const { status, headers, body } = await service.get(`/file/names/${escapePath(name)}?download=1`);
      assert.deepEqual([status, body.toString()], [200, name]);
      assert.equal(nameIn(headers['content-disposition']), name);
    }
  });

  it('evaluates ranges and preconditions', async () => {
    const { headers } = await upload(service.port, 'part.txt', DIGITS);
    const part = await service.get('/file/part.txt?download=1', { range: 'bytes=1-2' });
    assert.deepEqual([part.status, part.body.toString()], [206, '12']);
    assert.equal(nameIn(part.headers['content-disposition']), 'part.txt');
    const same = await service.get('/file/part.txt?download=1', { 'if-none-match': String(headers.etag) });
    assert.equal(same.status, 304);
  });

  it('returns no attachment without it or with another value', async () => {
    await upload(service.port, 'shown.txt', DIGITS);
    for (const query of ['', '?', '?download=', '?download=0', '?other=1']) {
      const { status, headers } = await service.get(`/file/shown.txt${query}`);
      assert.equal(status, 200);
      assert.doesNotMatch(headers['content-disposition'] ?? 'inline', /attachment/);
    }
  });

  it('returns failures without Content-Disposition', async () => {
    const response = await service.get('/file/missing.txt?download=1');
    assertFailure(response, 404, /missing\.txt/);
    assert.equal(response.headers['content-disposition'], undefined);
  });
}

function redirects(): void {
  const bytes = Buffer.alloc(6 * 1024 * 1024, 'x');
  const LARGE = 'large folder/50% é"#?.txt';
  const PATH = `/file/${escapePath(LARGE)}`;

  it('redirects to the URL of the store, with the configured expiry', async () => {
    const requested: unknown[] = [];
    const elsewhere = await startService(memory, {
      presignExpires: 77,
      wrap: (store) => ({
        ...store,
        async presign(file, { expires, download }) {
          requested.push([file.path, expires, download]);
          return 'https://objects.example/x?signature=y';
        },
      }),
    });
    try {
      await upload(elsewhere.port, LARGE, bytes);
      for (const query of ['', '?download=1']) {
        const { status, headers } = await send(elsewhere.port, PATH + query);
        assert.deepEqual([status, headers.location], [302, 'https://objects.example/x?signature=y']);
      }
      assertFailure(await send(elsewhere.port, '/file/missing.bin'), 404, /missing\.bin/);
      assert.deepEqual(requested, [
        [LARGE, 77, false],
        [LARGE, 77, true],
      ]);
    } finally {
      await elsewhere.stop();
    }
  });
}

function findsOnlyNamed(): void {
  const tree = {
    'secret.txt': 'the secret',
    'folder/inner.txt': 'inner',
    'empty folder/': null,
    '%': 'percent',
    '%25': 'escaped percent',
    '%2525': 'twice escaped percent',
    'a/b': 'in a folder',
    'a%2Fb': 'with an escape in its name',
    '+': 'plus',
    'a+b c': 'plus and space',
  };
  const service = serve(tree);

  for (const [path, text] of [
    ['%25', 'percent'],
    ['%2525', 'escaped percent'],
    ['%252525', 'twice escaped percent'],
    ['a/b', 'in a folder'],
    ['a%2Fb', 'in a folder'],
    ['%61/%62', 'in a folder'],
    ['a%252Fb', 'with an escape in its name'],
    ['+', 'plus'],
    ['%2B', 'plus'],
    ['a+b%20c', 'plus and space'],
    ['/secret.txt', 'the secret'],
    ['%2Fsecret.txt', 'the secret'],
    ['secret.txt?x=%ff', 'the secret'],
  ] as const) {
    it(`/file/${path} is decoded once, to the file with "${text}"`, async () => {
      const { status, body } = await service.get(`/file/${path}`);
      assert.deepEqual([status, body.toString()], [200, text]);
    });
  }

  for (const [path, error] of [
    ['', /empty/],
    ['/', /empty/],
    ['folder/', /empty segment/],
    ['folder//inner.txt', /empty segment/],
    ['//secret.txt', /empty segment/],
    ['.', /segment "\."/],
    ['..', /segment "\.\."/],
    ['./secret.txt', /segment "\."/],
    ['folder/../secret.txt', /segment "\.\."/],
    ['folder/%2e%2e/secret.txt', /segment "\.\."/],
    ['folder/.%2E/secret.txt', /segment "\.\."/],
    ['folder%2f..%2fsecret.txt', /segment "\.\."/],
    ['../secret.txt', /segment "\.\."/],
    ['../file/secret.txt', /segment "\.\."/],
    ['../../../../../../etc/passwd', /segment "\.\."/],
    ['..%2f..%2f..%2f..%2f..%2fetc%2fpasswd', /segment "\.\."/],
    ['secret.txt%00', /control character/],
    ['secret.txt%00.jpg', /control character/],
    ['secret%0D%0Ax-injected:%201', /control character/],
    ['%7f', /control character/],
    ['%ff', /UTF-8/],
    ['folder/%c0%ae%c0%ae/secret.txt', /UTF-8/],
    ['folder%c0%afinner.txt', /UTF-8/],
    ['%ed%a0%80', /UTF-8/],
    ['100%', /escape/],
    ['%zz', /escape/],
    [`${'x/'.repeat(512)}x`, /1,?024|1025/],
  ] as const) {
    it(`/file/${path.slice(0, 60)} returns 400 with the rule`, async () =>
      assertFailure(await service.get(`/file/${path}`), 400, error));
  }
}

function rejectsTraversal(backend: Backend): void {
  const tree = {
    'secret.txt': 'the secret',
    'folder/inner.txt': 'inner',
    'empty folder/': null,
    '%': 'percent',
    '%25': 'escaped percent',
    '%2525': 'twice escaped percent',
    'a/b': 'in a folder',
    'a%2Fb': 'with an escape in its name',
    '+': 'plus',
    'a+b c': 'plus and space',
  };
  const service = serve(tree, {}, backend);

  for (const path of [
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/file%2Fsecret.txt',
    '/file/%252e%252e/secret.txt',
    '/file/folder/%252e%252e/secret.txt',
    '/file/..%5csecret.txt',
    '/file/folder/..\\secret.txt',
    '/file/..;/secret.txt',
    '/file/folder/...//secret.txt',
    '/file/folder/..%20/secret.txt',
    '/file/folder/%EF%BC%8E%EF%BC%8E/secret.txt',
    '/file//etc/passwd',
    '/file/%2Fetc%2Fpasswd',
    '/file/file:///etc/passwd',
    '/file/~/secret.txt',
    '/-/signed/folder/../secret.txt',
    '/-/secret.txt',
  ]) {
    it(`${path} returns 400 or 404`, async () => {
      const { status, body } = await service.get(path);
      assert.ok(status === 400 || status === 404, String(status));
      assert.doesNotMatch(body.toString(), /the secret|root:/);
    });
  }
}

describe('GET /file/', () => {
  describe('checks the request', checksRequest);
  describe('returns ranges (RFC 9110, section 14)', rangeTests);
  describe('evaluates preconditions (RFC 9110, section 13)', honoursConditions);
  describe('returns an attachment with ?download=1', attachmentTests);
  describe('redirects to the download URL of the store', redirects);
  describe('validates the path', findsOnlyNamed);
  for (const backend of [memory, disk])
    describe(`rejects path traversal: ${backend.name}`, () => rejectsTraversal(backend));
});
