import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Backend } from '../contract/backend.ts';
import { assertFailure, beginUpload, type HttpResponse, jsonOf, plant, send, sendBytes, treeOf } from './client.ts';
import { ietfUploadsCases, MAX_UPLOAD_SIZE } from './ietf-uploads.ts';
import { served } from './service.ts';

type Headers = Readonly<Record<string, string>>;

const TUS = { 'tus-resumable': '1.0.0' } as const;
const OFFSET = { ...TUS, 'content-type': 'application/offset+octet-stream' } as const;

const base64 = (text: string) => Buffer.from(text).toString('base64');
const metadata = (pairs: Headers) =>
  Object.entries(pairs)
    .map(([name, value]) => `${name} ${base64(value)}`)
    .join(',');

/** Tests the routes of resumable uploads on a store that has them. */
export function resumableUploadsSuite(backend: Backend): void {
  describe(`A resumable upload: ${backend.name}`, () => {
    const service = served(backend, { hasJobs: true, keepsConnections: false, maxUploadSize: MAX_UPLOAD_SIZE });

    const begin = (headers: Headers, body?: Buffer | string) =>
      send(service.port, '/-/uploads', {
        method: 'POST',
        headers: { ...TUS, ...headers },
        ...(body !== undefined && { body }),
      });
    const patch = (url: string, offset: number | string, body: Buffer | string, headers: Headers = {}) =>
      send(service.port, url, {
        method: 'PATCH',
        headers: { ...OFFSET, 'upload-offset': String(offset), ...headers },
        body,
      });
    const head = (url: string) => send(service.port, url, { method: 'HEAD', headers: TUS });
    const cancel = (url: string) => send(service.port, url, { method: 'DELETE', headers: TUS });
    /** Begins an upload and returns its URL. */
    const urlOf = async (path: string, size: number, headers: Headers = {}) => {
      const response = await begin({
        'upload-length': String(size),
        'upload-metadata': metadata({ path }),
        ...headers,
      });
      assert.equal(response.status, 201, response.body.toString());
      return String(response.headers.location);
    };
    const assertOffset = (response: HttpResponse, status: number, offset: number) => {
      assert.equal(response.status, status, response.body.toString());
      assert.equal(response.headers['upload-offset'], String(offset));
      assert.equal(response.headers['tus-resumable'], '1.0.0');
    };
    const get = (path: string) => send(service.port, `/file/${path}`);

    ietfUploadsCases(backend, () => service);

    it('describes its protocol', async () => {
      for (const url of ['/-/uploads', '/-/uploads/some-id']) {
        const { status, headers } = await send(service.port, url, { method: 'OPTIONS' });
        assert.equal(status, 204);
        assert.equal(headers['tus-version'], '1.0.0');
        assert.equal(headers['tus-max-size'], String(MAX_UPLOAD_SIZE));
        for (const extension of [
          'creation',
          'creation-with-upload',
          'creation-defer-length',
          'termination',
          'expiration',
          'checksum',
        ]) {
          assert.ok(String(headers['tus-extension']).split(',').includes(extension), extension);
        }
      }
    });

    it('becomes a file with its last part, and tells that to a client that lost the response', async () => {
      const bytes = randomBytes(300_000);
      const given = metadata({
        filename: 'C:/x/ü.bin',
        prefix: 'parts',
        filetype: 'text/x-a',
        modified: '2014-07-18T06:54:52Z',
      });
      const created = await begin({ 'upload-length': String(bytes.length), 'upload-metadata': given });
      assertOffset(created, 201, 0);
      assert.equal(created.body.length, 0);
      const url = String(created.headers.location);
      assert.match(url, /^\/-\/uploads\/[\da-f-]{36}$/);
      assert.ok(Date.parse(String(created.headers['upload-expires'])) > Date.now() + 6 * 86_400_000);
      assertOffset(await patch(url, 0, bytes.subarray(0, 100_000)), 204, 100_000);
      const state = await head(url);
      assertOffset(state, 200, 100_000);
      assert.equal(state.headers['upload-length'], String(bytes.length));
      assert.equal(state.headers['upload-metadata'], given);
      assert.equal(state.headers['cache-control'], 'no-store');
      assert.equal((await get('parts/%C3%BC.bin')).status, 404, 'nothing is visible before the end');
      const last = await patch(url, 100_000, bytes.subarray(100_000));
      assertOffset(last, 204, bytes.length);
      const file = await get('parts/%C3%BC.bin');
      assert.ok(file.body.equals(bytes));
      assert.equal(file.headers.etag, last.headers.etag);
      assert.equal(last.headers['content-location'], '/file/parts/%C3%BC.bin');
      if (!backend.lacks['kept-times']) {
        assert.equal(file.headers['last-modified'], 'Fri, 18 Jul 2014 06:54:52 GMT');
      }
      assertOffset(await head(url), 200, bytes.length);
      assertOffset(await patch(url, bytes.length, ''), 204, bytes.length);
      assertFailure(await patch(url, 0, bytes), 409, /300000 bytes have arrived/);
      assert.equal((await cancel(url)).status, 204);
      assert.equal((await head(url)).status, 404);
      assert.ok((await get('parts/%C3%BC.bin')).body.equals(bytes), 'the file remains');
    });

    it('can be a single request, and can be empty', async () => {
      const at = (path: string, size: number) => ({
        'upload-length': String(size),
        'upload-metadata': metadata({ path }),
      });
      assertOffset(await begin({ ...OFFSET, ...at('single/whole', 5) }, 'whole'), 201, 5);
      assertOffset(await begin({ ...OFFSET, ...at('single/part', 5) }, 'pa'), 201, 2);
      assertOffset(await begin(at('single/empty', 0)), 201, 0);
      assert.deepEqual(await treeOf(service.port, 'single/'), { 'single/empty': '', 'single/whole': 'whole' });
    });

    it('can get its size later', async () => {
      const created = await begin({ 'upload-defer-length': '1', 'upload-metadata': metadata({ path: 'later/a' }) });
      const url = String(created.headers.location);
      assertOffset(await patch(url, 0, 'abc'), 204, 3);
      assert.equal((await head(url)).headers['upload-defer-length'], '1');
      assertFailure(await patch(url, 3, 'd', { 'upload-length': '2' }), 413, /2 bytes/);
      assertOffset(await patch(url, 3, 'd', { 'upload-length': '5' }), 204, 4);
      assert.equal((await head(url)).headers['upload-length'], '5');
      assertFailure(await patch(url, 4, 'e', { 'upload-length': '6' }), 400, /Upload-Length/);
      assertOffset(await patch(url, 4, 'e'), 204, 5);
      assert.equal((await get('later/a')).body.toString(), 'abcde');
      const over = await begin({ 'upload-defer-length': '1', 'upload-metadata': metadata({ path: 'later/b' }) });
      const large = Buffer.alloc(MAX_UPLOAD_SIZE + 1);
      assertFailure(await patch(String(over.headers.location), 0, large), 413, /2000000/);
    });

    it('keeps what arrived when the connection breaks, and continues from there', async () => {
      const bytes = randomBytes(200_000);
      const url = await urlOf('broken/a', bytes.length);
      const lines = [`PATCH ${url} HTTP/1.1`, 'host: localhost', 'upload-offset: 0', `content-length: ${bytes.length}`];
      for (const [name, value] of Object.entries(OFFSET)) lines.push(`${name}: ${value}`);
      const whole = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes.subarray(0, 120_000)]);
      await sendBytes(service.port, whole, { ends: true });
      const offset = Number((await head(url)).headers['upload-offset']);
      assert.equal(offset, 120_000);
      assertOffset(await patch(url, offset, bytes.subarray(offset)), 204, bytes.length);
      assert.ok((await get('broken/a')).body.equals(bytes));
    });

    it('gives way to a newer request of its client', async () => {
      const bytes = randomBytes(100_000);
      const url = await urlOf('newer/a', bytes.length);
      const target = { method: 'PATCH', path: url };
      const old = beginUpload(service.port, { ...OFFSET, 'upload-offset': '0', 'content-length': '100000' }, target);
      await old.write(bytes.subarray(0, 50_000));
      const state = await head(url);
      assert.equal(state.status, 200);
      const offset = Number(state.headers['upload-offset']);
      const [first, second] = await Promise.all([
        patch(url, offset, bytes.subarray(offset)),
        patch(url, offset, bytes.subarray(offset)),
      ]);
      const statuses = [first.status, second.status].toSorted((a, b) => a - b);
      assert.equal(statuses[0], 204);
      assert.ok([409, 423].includes(statuses[1] ?? 0), String(statuses));
      assert.ok((await get('newer/a')).body.equals(bytes));
      old.disconnect();
    });

    it('can be continued and cancelled by POST, with the method in a header', async () => {
      const post = (url: string, override: string, headers: Headers = OFFSET) =>
        send(service.port, url, {
          method: 'POST',
          headers: { ...headers, 'upload-offset': '0', 'x-http-method-override': override },
          body: 'ab',
        });
      const url = await urlOf('override/a', 4);
      assertOffset(await post(url, 'PATCH'), 204, 2);
      assert.equal((await post(url, 'DELETE')).status, 204);
      assert.equal((await head(url)).status, 404);
      const other = await urlOf('override/b', 4);
      assert.equal((await post(other, 'PUT')).status, 405);
      assert.equal((await post(other, 'DELETE', { 'content-type': 'text/plain' })).status, 405, 'without tus');
      await plant(service.port, { 'override/file': 'text' });
      assert.equal((await post('/file/override/file', 'DELETE')).status, 405, 'not an upload');
      assertOffset(await head(other), 200, 0);
      assert.equal((await cancel(other)).status, 204);
    });

    it('discards a part with another checksum', async () => {
      const url = await urlOf('checksum/a', 6);
      const sha1 = (text: string) => `sha1 ${createHash('sha1').update(text).digest('base64')}`;
      assertOffset(await patch(url, 0, 'abc', { 'upload-checksum': sha1('abc') }), 204, 3);
      const wrong = await patch(url, 3, 'xyz', { 'upload-checksum': sha1('def') });
      assertFailure(wrong, 460, /sha1/);
      assertFailure(await patch(url, 3, 'def', { 'upload-checksum': 'crc32 AAAA' }), 400, /Upload-Checksum/);
      assertOffset(await head(url), 200, 3);
      assertOffset(await patch(url, 3, 'def', { 'upload-checksum': sha1('def') }), 204, 6);
      assert.equal((await get('checksum/a')).body.toString(), 'abcdef');
    });

    it('refuses parts that do not fit', async () => {
      const url = await urlOf('fit/a', 4);
      assertOffset(await patch(url, 0, 'ab'), 204, 2);
      assertFailure(await patch(url, 0, 'ab'), 409, /begins at byte 0, but 2/);
      assertFailure(await patch(url, 3, 'd'), 409, /begins at byte 3, but 2/);
      assertFailure(await patch(url, 2, 'cde'), 413, /4 bytes/);
      assertFailure(await patch(url, 2, 'cde', { 'transfer-encoding': 'chunked' }), 413, /limit/);
      assertFailure(await patch(url, 2, 'cd', { 'content-type': 'text/plain' }), 415, /offset\+octet-stream/);
      for (const offset of ['', '-1', '1.5', '0x2', '99999999999999999999']) {
        assertFailure(await patch(url, offset, 'cd'), 400, /Upload-Offset/);
      }
      assertFailure(await patch(url, 2, 'cd', { 'tus-resumable': '0.2.2' }), 412, /1\.0\.0/);
      assert.equal((await head(url)).headers['upload-offset'], '2');
      assert.deepEqual(await treeOf(service.port, 'fit/').catch(() => ({})), {});
    });

    it('checks the destination when it begins, and again at its end', async () => {
      await plant(service.port, { 'destination/taken': 'old' });
      const at = (path: string) => ({ 'upload-length': '3', 'upload-metadata': metadata({ path }) });
      const absent = { 'if-none-match': '*' };
      assertFailure(await begin({ ...at('destination/taken'), ...absent }), 412, /taken/);
      if (!backend.lacks['one-kind-per-name']) {
        assertFailure(await begin(at('destination')), 409, /destination/);
        assertFailure(await begin(at('destination/taken/new/file')), 409, /"destination\/taken"/);
      }
      if (backend.name === 'disk') assertFailure(await begin(at('.holdall/uploads/x')), 404, /\.holdall/);
      assertFailure(await begin({ ...at('destination/taken'), 'if-match': '"x"' }), 412, /taken/);
      assertFailure(await begin(at('destination/../x')), 400, /\.\./);
      assertFailure(await begin({ ...at('x'), 'upload-length': String(MAX_UPLOAD_SIZE + 1) }), 413, /2000000/);
      const url = await urlOf('destination/new', 3, absent);
      await plant(service.port, { 'destination/new': 'other' });
      assertFailure(await patch(url, 0, 'new'), 412, /new/);
      // Clients would take the complete offset for a success.
      assert.equal((await head(url)).status, 412);
      await send(service.port, '/delete/destination/new', { method: 'DELETE' });
      assertOffset(await patch(url, 3, ''), 204, 3);
      assert.deepEqual(await treeOf(service.port, 'destination/'), {
        'destination/new': 'new',
        'destination/taken': 'old',
      });
    });

    it('refuses invalid headers', async () => {
      const valid: Headers = { 'upload-length': '3', 'upload-metadata': metadata({ path: 'x' }) };
      const invalid: readonly [Headers, RegExp][] = [
        [{ 'upload-metadata': 'path' }, /path|filename|empty/],
        [{ 'upload-metadata': '' }, /"path" nor "filename"/],
        [{ 'upload-metadata': 'path /w==' }, /Upload-Metadata/],
        [{ 'upload-metadata': 'path eA==,path eA==' }, /Upload-Metadata/],
        [{ 'upload-metadata': 'path eA== eA==' }, /Upload-Metadata/],
        [{ 'upload-metadata': metadata({ path: 'x', modified: 'yesterday' }) }, /modified/],
        [{ 'upload-length': '-1' }, /Upload-Length/],
        [{ 'upload-length': '1e3' }, /Upload-Length/],
        [{ 'upload-defer-length': '1' }, /Upload-Defer-Length/],
        [{ 'upload-defer-length': '2' }, /Upload-Defer-Length/],
      ];
      for (const [headers, message] of invalid) assertFailure(await begin({ ...valid, ...headers }), 400, message);
      assertFailure(await send(service.port, '/-/uploads', { method: 'POST', headers: valid }), 412, /missing/);
      for (const id of ['nothing', '../x', '%2e%2e', 'a'.repeat(300)]) {
        assert.ok([400, 404].includes((await head(`/-/uploads/${id}`)).status), id);
      }
    });

    it('is not listed for anonymous users, and ends when it is cancelled', async () => {
      const url = await urlOf('cancelled/a', 3);
      assertOffset(await patch(url, 0, 'ab'), 204, 2);
      assert.deepEqual(jsonOf(await send(service.port, '/-/uploads')), { success: true, uploads: [] });
      assert.equal((await cancel(url)).status, 204);
      assert.equal((await head(url)).status, 404);
      assert.equal((await cancel(url)).status, 404);
      assertFailure(await patch(url, 2, 'c'), 404, /does not exist/);
    });
  });
}
