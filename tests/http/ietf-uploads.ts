import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { describe, it } from 'node:test';
import { type Backend, has } from '../contract/backend.ts';
import { assertFailure, beginUpload, type HttpResponse, jsonOf, plant, send, sendBytes, treeOf } from './client.ts';
import type { TestService } from './service.ts';

type Headers = Readonly<Record<string, string>>;

export const MAX_UPLOAD_SIZE = 2_000_000;

const MIB = 2 ** 20;
const DRAFT = { 'upload-draft-interop-version': '8' } as const;
const PARTIAL = 'application/partial-upload';
const TUS = { 'tus-resumable': '1.0.0' } as const;

/** Tests the protocol "Resumable Uploads for HTTP". `service` returns a service with `MAX_UPLOAD_SIZE`. */
export function ietfUploadsCases(backend: Backend, service: () => Pick<TestService, 'port' | 'store'>): void {
  describe('by the protocol of the IETF', () => {
    const put = (path: string, body: Buffer | string, headers: Headers) =>
      send(service().port, `/file/${path}`, { method: 'PUT', headers: { ...DRAFT, ...headers }, body });
    const patch = (url: string, offset: number | string, body: Buffer | string, headers: Headers) =>
      send(service().port, url, {
        method: 'PATCH',
        headers: { ...DRAFT, 'content-type': PARTIAL, 'upload-offset': String(offset), ...headers },
        body,
      });
    const head = (url: string, method = 'HEAD') => send(service().port, url, { method, headers: DRAFT });
    const get = (path: string) => send(service().port, `/file/${path}`);
    const more = { 'upload-complete': '?0' } as const;
    const end = { 'upload-complete': '?1' } as const;
    /** Begins an upload and returns its URL. */
    const begin = async (path: string, headers: Headers = {}) => {
      const response = await put(path, '', { ...more, ...headers });
      assertState(response, 201, 0, more);
      return String(response.headers.location);
    };
    const offsetOf = async (url: string) => Number((await head(url)).headers['upload-offset']);

    /** Returns the status of a response to a new file: some stores don't tell whether it is new. */
    const statusOfNew = ({ status }: HttpResponse) =>
      backend.lacks['outcomes-of-writes'] && status === 200 ? 200 : 201;

    it('becomes a file with the request that completes it, as if that were the first one', async () => {
      const bytes = randomBytes(300_000);
      const created = await put('ietf/a%20%C3%BC.x', bytes.subarray(0, 100_000), {
        ...more,
        'upload-length': '300000',
        'content-type': 'text/x-a',
      });
      assertState(created, 201, 100_000, more);
      assert.equal(created.body.length, 0);
      const url = String(created.headers.location);
      assert.match(url, /^\/-\/uploads\/[\da-f-]{36}$/);
      const limits = /^max-size=2000000, max-age=(?<age>\d+)$/.exec(String(created.headers['upload-limit']));
      assert.ok(Number(limits?.groups?.['age']) > 6 * 86_400, String(created.headers['upload-limit']));
      for (const method of ['HEAD', 'GET']) {
        const state = await head(url, method);
        assertState(state, 204, 100_000, more);
        assert.equal(state.headers['upload-length'], '300000');
        assert.equal(state.headers['cache-control'], 'no-store');
        assert.match(String(state.headers['upload-limit']), /max-age=/);
        assert.equal(state.headers['tus-resumable'], undefined);
      }
      assertState(await patch(url, 100_000, bytes.subarray(100_000, 300_000), more), 204, 300_000, more);
      assert.equal((await get('ietf/a%20%C3%BC.x')).status, 404, 'the size alone does not complete it');
      const last = await patch(url, 300_000, '', end);
      assertState(last, statusOfNew(last), 300_000, end);
      const { success, path } = jsonOf(last) as { success: boolean; path: string };
      assert.deepEqual([success, path], [true, 'ietf/a ü.x']);
      const file = await get('ietf/a%20%C3%BC.x');
      assert.ok(file.body.equals(bytes));
      assert.equal(file.headers.etag, last.headers.etag);
      if (!backend.lacks['stored-types']) assert.match(String(file.headers['content-type']), /^text\/x-a/);
      assertState(await head(url), 204, 300_000, end);
      assertState(await patch(url, 300_000, '', end), 200, 300_000, end);
    });

    it('begins with a POST, and continues by either protocol', async () => {
      const target = { method: 'POST', headers: { ...DRAFT, ...more, 'content-length': '0' } };
      const created = await send(service().port, '/-/uploads?path=ietf%2Fmixed', target);
      assertState(created, 201, 0, more);
      const url = String(created.headers.location);
      assertState(await patch(url, 0, 'ab', more), 204, 2, more);
      const byTus = await send(service().port, url, {
        method: 'PATCH',
        headers: { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': '2' },
        body: 'cd',
      });
      assert.equal(byTus.headers['upload-offset'], '4');
      const last = await patch(url, 4, 'e', end);
      assertState(last, statusOfNew(last), 5, end);
      assert.equal((await get('ietf/mixed')).body.toString(), 'abcde');
      assertFailure(await send(service().port, '/-/uploads', target), 400, /"path"/);
      const whole = { method: 'POST', headers: { ...DRAFT, ...end }, body: 'whole' };
      assertState(await send(service().port, '/-/uploads?path=ietf%2Fwhole', whole), 200, 5, end);
      assert.equal((await get('ietf/whole')).body.toString(), 'whole');
    });

    it('has its URL and limits in an interim response, if the client understands it', async () => {
      const bytes = randomBytes(MIB);
      const sent = await putWithInterim(service().port, '/file/ietf/interim', bytes, { ...DRAFT, ...end });
      assert.ok(sent.interim.every(({ status }) => status === 104));
      const [first, ...others] = sent.interim.map(({ headers: given }) => given);
      assert.ok(others.every(({ location }) => location === undefined));
      const headers = first ?? {};
      assert.equal(headers['upload-draft-interop-version'], '8');
      assert.match(String(headers['upload-limit']), /max-size=2000000/);
      const url = String(headers.location);
      assert.equal(sent.headers['upload-complete'], '?1');
      assert.equal(sent.headers.location, '/file/ietf/interim');
      assert.ok((await get('ietf/interim')).body.equals(bytes));
      assertState(await head(url), 204, MIB, end);
      const withoutVersion: readonly Headers[] = [{}, { 'upload-draft-interop-version': '7' }];
      for (const version of withoutVersion) {
        const whole = await putWithInterim(service().port, '/file/ietf/ordinary', bytes, { ...end, ...version });
        assert.deepEqual(whole.interim, []);
        assert.ok([200, 201].includes(whole.status));
      }
      const old = await sendBytes(
        service().port,
        `PUT /file/ietf/old HTTP/1.0\r\nhost: localhost\r\nupload-complete: ?0\r\nupload-draft-interop-version: 8\r\ncontent-length: 1\r\n\r\na`,
      );
      assert.match(old, /^HTTP\/1\.1 201 /);
    });

    it('is resumed after a PUT whose connection broke', async () => {
      const bytes = randomBytes(MIB + 1000);
      const headers = { host: 'localhost', ...DRAFT, ...end, 'content-length': String(bytes.length) };
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      const begun = Buffer.from(`PUT /file/ietf/broken HTTP/1.1\r\n${lines.join('')}\r\n`);
      const interim = await sendBytes(service().port, Buffer.concat([begun, bytes.subarray(0, 700_000)]), {
        ends: true,
      });
      const url = /^location: (?<url>\S+)/m.exec(interim)?.groups?.['url'] ?? assert.fail(interim);
      const offset = await offsetOf(url);
      assert.equal(offset, 700_000);
      const last = await patch(url, offset, bytes.subarray(offset), end);
      assertState(last, statusOfNew(last), bytes.length, end);
      assert.ok((await get('ietf/broken')).body.equals(bytes));
    });

    // Stores without uploads of their own have them in parts of the database, whose size is known.
    const isInDatabase = !has(backend, 'openUpload');
    const durableOffset = 'has the durable offset in interim responses, from stores that know it';
    if (isInDatabase)
      it(durableOffset, async () => {
        const url = await begin('ietf/progress');
        const { promise: reached, resolve, reject } = Promise.withResolvers<unknown>();
        const headers = {
          ...DRAFT,
          ...more,
          'content-type': PARTIAL,
          'upload-offset': '0',
          'content-length': '1500000',
        };
        const target = { host: '127.0.0.1', port: service().port, path: url, method: 'PATCH', headers, agent: false };
        const sending = httpRequest(target);
        sending.on('error', reject);
        sending.on('information', (interim) => resolve([interim.statusCode, interim.headers]));
        sending.write(Buffer.alloc(1_400_000));
        const version = { 'upload-draft-interop-version': '8' };
        assert.deepEqual(await reached, [104, { ...version, 'upload-offset': String(MIB) }]);
        const { promise: ended, resolve: onEnd } = Promise.withResolvers<number | undefined>();
        sending.on('response', (response) => onEnd(response.resume().statusCode));
        sending.end(Buffer.alloc(100_000));
        assert.equal(await ended, 204);
        assert.equal((await head(url, 'DELETE')).status, 204);
      });

    it('refuses parts that do not fit, with the offset that does', async () => {
      const url = await begin('ietf/fit', { 'upload-length': '4' });
      assertState(await patch(url, 0, 'ab', more), 204, 2, more);
      for (const offset of [0, 3]) {
        const wrong = await patch(url, offset, 'x', more);
        assertFailure(wrong, 409, /but 2 bytes/);
        assertState(wrong, 409, 2, more);
      }
      assertFailure(await patch(url, 2, 'c', end), 400, /3 bytes/);
      assertFailure(await patch(url, 2, 'cd', { ...more, 'upload-length': '5' }), 400, /5 bytes/);
      assertFailure(await patch(url, 2, 'cd', { ...end, 'upload-length': '5' }), 400, /Upload-Length is 5/);
      assertFailure(await patch(url, 2, 'cd', { ...end, 'content-type': 'text/plain' }), 415, /partial-upload/);
      for (const offset of ['', '-1', '1.5', '"2"', '9999999999999999']) {
        assertFailure(await patch(url, offset, 'cd', end), 400, /Upload-Offset/);
      }
      for (const value of ['', '1', '?2', 'true', '?1, ?1']) {
        assertFailure(await patch(url, 2, 'cd', { 'upload-complete': value }), 400, /Upload-Complete/);
      }
      const missing = { ...DRAFT, 'content-type': PARTIAL, 'upload-offset': '2' };
      assertFailure(
        await send(service().port, url, { method: 'PATCH', headers: missing, body: 'cd' }),
        400,
        /Upload-Complete/,
      );
      assertState(await head(url), 204, 2, more);
      assertFailure(await patch(url, 2, 'cde', more), 413, /4 bytes/);
      assert.equal((await head(url)).status, 404, 'an upload with more bytes than its size is invalid');
      assert.equal((await get('ietf/fit')).status, 404);
    });

    it('verifies the digest of each part, and refuses one of the whole', async () => {
      const digest = (text: string) => `sha-256=:${createHash('sha256').update(text).digest('base64')}:`;
      const url = await begin('ietf/digest');
      assertState(await patch(url, 0, 'abc', { ...more, 'content-digest': digest('abc') }), 204, 3, more);
      assertFailure(await patch(url, 3, 'xyz', { ...end, 'content-digest': digest('def') }), 400, /Content-Digest/);
      assertFailure(await patch(url, 3, 'def', { ...end, 'repr-digest': digest('abcdef') }), 400, /Repr-Digest/);
      assertState(await head(url), 204, 3, more);
      assert.equal(
        (await patch(url, 3, 'def', { ...end, 'content-digest': digest('def') })).headers['upload-complete'],
        '?1',
      );
      assert.equal((await get('ietf/digest')).body.toString(), 'abcdef');
      const bytes = randomBytes(MIB);
      const wrong = { ...end, 'repr-digest': digest('other') };
      assertFailure(await put('ietf/digest', bytes, wrong), 400, /Repr-Digest/);
    });

    it('tells an error of the file from one of the upload', async () => {
      await plant(service().port, { 'ietf/errors/taken': 'old' });
      const absent = { 'if-none-match': '*' };
      assertFailure(await put('ietf/errors/taken', 'new', { ...more, ...absent }), 412, /taken/);
      assertFailure(await put('ietf/errors/../x', '', more), 400, /\.\./);
      assertFailure(await put('ietf/errors/x', '', { ...more, 'upload-length': '2000001' }), 413, /2000000/);
      const url = await begin('ietf/errors/new', absent);
      await plant(service().port, { 'ietf/errors/new': 'other' });
      const failed = await patch(url, 0, 'new', end);
      assertFailure(failed, 412, /new/);
      assert.equal(failed.headers['upload-complete'], '?1');
      assertState(await head(url), 204, 3, more);
      assert.deepEqual(await treeOf(service().port, 'ietf/errors/'), {
        'ietf/errors/new': 'other',
        'ietf/errors/taken': 'old',
      });
      assert.equal((await head(url, 'DELETE')).status, 204);
      assert.equal((await head(url)).status, 404);
    });

    it('gives way to a newer request of its client', async () => {
      const url = await begin('ietf/newer');
      const old = beginUpload(
        service().port,
        { ...DRAFT, ...more, 'content-type': PARTIAL, 'upload-offset': '0', 'content-length': '100000' },
        { method: 'PATCH', path: url },
      );
      await old.write(Buffer.alloc(50_000));
      const offset = await offsetOf(url);
      assertState(await patch(url, offset, 'end', more), 204, offset + 3, more);
      old.disconnect();
      assert.equal((await head(url, 'DELETE')).status, 204);
    });

    it('is announced with its limits', async () => {
      for (const url of ['/-/uploads', '/file/ietf/options']) {
        const { status, headers } = await send(service().port, url, { method: 'OPTIONS' });
        assert.deepEqual([status, headers['upload-limit']], [204, 'max-size=2000000'], url);
        assert.match(String(headers.allow), /P(?:OS|U)T/);
      }
    });
  });
}

function assertState(response: HttpResponse, status: number, offset: number, complete: Headers): void {
  assert.equal(response.status, status, response.body.toString());
  assert.equal(response.headers['upload-offset'], String(offset));
  assert.equal(response.headers['upload-complete'], complete['upload-complete']);
}

interface Interim {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
}

/** Sends a PUT, and returns its interim responses and the headers of its response. */
async function putWithInterim(
  port: number,
  path: string,
  body: Buffer,
  headers: Headers,
): Promise<{ readonly interim: readonly Interim[]; readonly status: number; readonly headers: IncomingHttpHeaders }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; headers: IncomingHttpHeaders }>();
  const interim: Interim[] = [];
  const request = httpRequest({ host: '127.0.0.1', port, path, method: 'PUT', headers, agent: false });
  request.on('information', ({ statusCode, headers: given }) => interim.push({ status: statusCode, headers: given }));
  request.on('error', reject);
  request.on('response', (response) => {
    response.resume();
    resolve({ status: response.statusCode ?? 0, headers: response.headers });
  });
  request.end(body);
  return { interim, ...(await promise) };
}
