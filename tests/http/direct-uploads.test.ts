import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { parseFile } from '../../src/model/path.ts';
import { partBytesOf, testObjectStore } from '../../testing/servers/object-store.ts';
import { EVERYONE, type GuardedService, grant, json, startGuardedService } from '../access/guarded-service.ts';
import { s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { assertFailure, type Call, type HttpResponse, jsonOf } from './client.ts';

export const needs: readonly Need[] = ['bucket'];

const TUS = { 'tus-resumable': '1.0.0' } as const;
const PART = partBytesOf(testObjectStore());

const md5Of = (bytes: Buffer) => createHash('md5').update(bytes).digest('base64');

interface Presigned {
  readonly partSize: number;
  readonly parts: readonly { number: number; offset: number; size: number; url: string; headers: HeadersInit }[];
}

const beginAt = (path: string, size: number | undefined, headers: Record<string, string> = {}): Call => ({
  method: 'POST',
  headers: {
    ...TUS,
    ...(size === undefined ? { 'upload-defer-length': '1' } : { 'upload-length': String(size) }),
    'upload-metadata': `path ${Buffer.from(path).toString('base64')},filetype ${Buffer.from('text/x-a').toString('base64')}`,
    ...headers,
  },
});
const partAt = (offset: number, body = ''): Call => ({
  method: 'PATCH',
  headers: { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) },
  body,
});
const HEAD: Call = { method: 'HEAD', headers: TUS };
const urlOf = ({ status, headers, body }: HttpResponse) => {
  assert.equal(status, 201, body.toString());
  return String(headers.location);
};

describe('Parts that a client sends to the bucket', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService(s3, { hasJobs: true, maxUploadSize: 2 * PART });
  });
  after(() => service.stop());

  /** Requests URLs for all parts of a content, as a user. */
  const presign = (send: GuardedService['asAnn'], url: string, bytes: Buffer) => {
    const parts = [];
    for (let offset = 0; offset < bytes.length; offset += PART) {
      parts.push({ number: offset / PART + 1, md5: md5Of(bytes.subarray(offset, offset + PART)) });
    }
    return send(`${url}/parts`, json({ parts }));
  };
  /** Sends all parts of a content to the bucket. */
  const sendParts = async (url: string, bytes: Buffer) => {
    const response = await presign(service.asAnn, url, bytes);
    assert.equal(response.status, 200, response.body.toString());
    assert.equal(response.headers['cache-control'], 'no-store');
    for (const part of (jsonOf(response) as unknown as Presigned).parts) {
      const body = new Uint8Array(bytes.subarray(part.offset, part.offset + part.size));
      assert.equal((await fetch(part.url, { method: 'PUT', headers: part.headers, body })).status, 200);
    }
  };

  it('become a file, which a request without a body stores', async () => {
    service.grant(grant('', ['read', 'write']));
    const bytes = randomBytes(PART + 5);
    const begun = await service.asAnn('/-/uploads', beginAt('a ü.bin', bytes.length));
    const url = urlOf(begun);
    assert.equal(begun.headers['upload-parts'], `${url}/parts`);
    assert.equal((await service.asAnn(url, HEAD)).headers['upload-parts'], `${url}/parts`);
    assert.deepEqual(jsonOf(await service.asAnn(`${url}/parts`, json({ parts: [] }))), {
      success: true,
      partSize: PART,
      parts: [],
    });
    await sendParts(url, bytes);
    assert.equal((await service.asAnn('/file/a%20%C3%BC.bin', HEAD)).status, 404, 'nothing is visible yet');
    // HEAD by tus would store it as well.
    const end = await service.asAnn(url, partAt(bytes.length));
    assert.equal(end.status, 204, end.body.toString());
    assert.equal(end.headers['content-location'], '/file/a%20%C3%BC.bin');
    const entry = await service.store.stat(parseFile('a ü.bin'));
    assert.equal(end.headers.etag, `"${entry.etag}"`);
    assert.equal(entry.type, 'text/x-a');
    const { changes } = jsonOf(await service.asAnn('/-/changes?before=newest&limit=1')) as unknown as {
      changes: { id: string; type: string; path: string; size: number; user: string }[];
    };
    const [change] = changes;
    assert.deepEqual(
      [change?.id, change?.type, change?.path, change?.size, change?.user],
      [end.headers['x-change-id'], 'file.created', 'a ü.bin', bytes.length, 'ann'],
    );
    assert.deepEqual(service.events().length, 1);
    // As after a lost response.
    assert.equal((await service.asAnn(url, partAt(bytes.length))).status, 204);
    assertFailure(await presign(service.asAnn, url, bytes), 409, new RegExp(`All ${bytes.length} bytes`));
    assert.equal((await service.asAnn(url, HEAD)).headers['upload-parts'], undefined);
  });

  it('are only for the user who began the upload', async () => {
    service.grant(grant('', ['read', 'write']), grant('open/', ['read', 'write'], EVERYONE));
    const bytes = randomBytes(5);
    const own = urlOf(await service.asAnn('/-/uploads', beginAt('open/a', 5)));
    const anonymous = urlOf(await service.asAnonymous('/-/uploads', beginAt('open/b', 5)));
    assertFailure(await presign(service.asAnonymous, own, bytes), 404, /does not exist/);
    assertFailure(await presign(service.asAnn, anonymous, bytes), 404, /does not exist/);
    assertFailure(await presign(service.asAnn, '/-/uploads/x', bytes), 404, /"x"/);
    assert.equal((await presign(service.asAnonymous, anonymous, bytes)).status, 200);
  });

  it('have no URLs while a lock forbids the upload', async () => {
    service.grant(grant('', ['read', 'write']));
    const bytes = randomBytes(5);
    const url = urlOf(await service.asAnn('/-/uploads', beginAt('locked', 5)));
    const body = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
    assert.equal((await service.asAnn('/-/dav/locked', { method: 'LOCK', body })).status, 201);
    assertFailure(await presign(service.asAnn, url, bytes), 409, /"locked" is locked by "ann"/);
  });

  it('are stored only with the permission and under the condition that hold at the end', async () => {
    service.grant(grant('own/', ['read', 'write', 'manage']));
    await service.plant({ 'own/taken': 'old' });
    const bytes = randomBytes(5);
    const absent = { 'if-none-match': '*' };
    const url = urlOf(await service.asAnn('/-/uploads', beginAt('own/a', 5, absent)));
    await sendParts(url, bytes);
    service.grant(grant('own/', ['read']));
    assertFailure(await service.asAnn(url, partAt(5)), 403, /own/);
    service.grant(grant('own/', ['read', 'write', 'manage']));
    await service.plant({ 'own/a': 'other' });
    assertFailure(await service.asAnn(url, partAt(5)), 412, /own\/a/);
    await service.plant({});
    assert.equal((await service.asAnn(url, partAt(5))).status, 204);
    assert.equal((await service.store.stat(parseFile('own/a'))).size, 5);
  });

  it('are limited by MAX_UPLOAD_SIZE, by the size of the upload, and to 100 in a request', async () => {
    service.grant(grant('', ['read', 'write']));
    assertFailure(await service.asAnn('/-/uploads', beginAt('large', 2 * PART + 1)), 413, new RegExp(`${2 * PART}`));
    const deferred = await service.asAnn('/-/uploads', beginAt('deferred', undefined));
    assert.equal(deferred.headers['upload-parts'], undefined);
    assertFailure(await presign(service.asAnn, urlOf(deferred), Buffer.alloc(1)), 400, /without its size/);
    const url = urlOf(await service.asAnn('/-/uploads', beginAt('limited', PART + 1)));
    const md5 = md5Of(Buffer.alloc(1));
    for (const [body, problem] of [
      [{}, /parts/],
      [{ parts: 'x' }, /parts/],
      [{ parts: [{ number: 3, md5 }] }, /no part 3/],
      [{ parts: [{ number: 0, md5 }] }, /number/],
      [{ parts: [{ number: 1.5, md5 }] }, /number/],
      [{ parts: [{ number: '1', md5 }] }, /number/],
      [{ parts: [{ number: 1 }] }, /md5/],
      [{ parts: [{ number: 1, md5: 'AAAA' }] }, /md5/],
      [{ parts: [{ number: 1, md5: `${md5}\r\nx-a: b` }] }, /md5/],
      [{ parts: Array.from({ length: 101 }, () => ({ number: 1, md5 })) }, /parts/],
    ] as const) {
      assertFailure(await service.asAnn(`${url}/parts`, json(body)), 400, problem);
    }
    // Bytes that don't fill the content are no file.
    assertFailure(await service.asAnn(url, partAt(PART + 1)), 409, /0 bytes have arrived/);
  });

  it('are rejected after the upload was cancelled, and leave nothing', async () => {
    service.grant(grant('', ['read', 'write']));
    const bytes = randomBytes(5);
    const url = urlOf(await service.asAnn('/-/uploads', beginAt('cancelled', 5)));
    const { parts } = jsonOf(await presign(service.asAnn, url, bytes)) as unknown as Presigned;
    const [part] = parts;
    assert.ok(part);
    assert.equal((await service.asAnn(url, { method: 'DELETE', headers: TUS })).status, 204);
    const late = await fetch(part.url, { method: 'PUT', headers: part.headers, body: new Uint8Array(bytes) });
    assert.equal(late.status, 404);
    assertFailure(await presign(service.asAnn, url, bytes), 404, /does not exist/);
  });
});

describe('A service without direct uploads', () => {
  for (const [name, options, status] of [
    ['because of UPLOAD_DIRECT', { isDirect: false }, 501],
    ['because it is read-only', { readOnly: true }, 403],
  ] as const) {
    it(`announces and returns no URLs of parts: ${name}`, async (t) => {
      const service = await startGuardedService(s3, { hasJobs: true, ...options });
      t.after(() => service.stop());
      service.grant(grant('', ['read', 'write']));
      const begun = await service.asAnn('/-/uploads', beginAt('a', 1));
      assert.equal(begun.headers['upload-parts'], undefined);
      const url = begun.status === 201 ? urlOf(begun) : '/-/uploads/x';
      assertFailure(await service.asAnn(`${url}/parts`, json({ parts: [] })), status, /./);
    });
  }
});
