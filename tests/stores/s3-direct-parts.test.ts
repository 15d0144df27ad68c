import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { AbortMultipartUploadCommand, HeadObjectCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import type { PresignedPart, Store } from '../../src/model/store.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { openProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse } from '../../testing/servers/s3-proxy.ts';
import { until } from '../../testing/until.ts';
import { file, ofKind } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { append, assertOnly, assertStored, begin, commit, open, PART } from './s3-uploading.ts';

export const needs: readonly Need[] = ['bucket'];

const md5Of = (bytes: Buffer) => createHash('md5').update(bytes).digest('base64');

describe('The parts that a client sends to a bucket', { concurrency: CONCURRENT_TESTS }, () => {
  const sizes = { 'one byte': 1, 'exactly one part': PART, 'a part and a byte': PART + 1 };
  for (const [description, size] of Object.entries(sizes)) {
    it(`become the same file as those through the service: ${description}`, async (t) => {
      const opened = await openProxied(t);
      const { store, bucket } = opened;
      const bytes = randomBytes(size);
      await begin(store, { size, user: 'ann' });
      await append(store, bytes);
      await commit(store);
      const head = async () => {
        const object = await bucket.client.send(new HeadObjectCommand({ Bucket: bucket.name, Key: 'a' }));
        const { ContentType, ContentLength, ETag, Metadata } = object;
        return { ContentType, ContentLength, ETag, Metadata };
      };
      const expected = await head();
      await store.remove(file('a'));

      await begin(store, { size, user: 'ann' });
      const count = Math.ceil(size / PART);
      for (let number = count; number > 0; number--) {
        assert.equal((await open(store)).offset, 0, 'parts after a missing one do not count');
        assert.equal((await sendPart(store, bytes, number)).status, 200);
      }
      assert.equal((await open(store)).offset, size);
      const entry = await commit(store);
      assert.equal(`"${entry.etag}"`, (await head()).ETag);
      // Below the size of a part, the service sends a file in one request, which has an ETag of another form.
      assert.deepEqual({ ...(await head()), ...(size < PART && { ETag: expected.ETag }) }, expected);
      await assertOnly(opened, bytes);
    });
  }

  it('are rejected with other bytes, another length, another number, or without the checksum', async (t) => {
    const { store } = await openProxied(t);
    const bytes = randomBytes(PART + 10);
    await begin(store, { size: bytes.length });
    const [part] = await presign(store, bytes, [2]);
    assert.ok(part);
    const right = bytes.subarray(PART);
    const other = Buffer.alloc(right.length);
    const asNumber1 = part.url.replace('partNumber=2', 'partNumber=1');
    assert.notEqual(asNumber1, part.url);
    for (const [name, sent, body, status, code] of [
      ['other bytes', part, other, 400, 'BadDigest'],
      ['shorter', part, right.subarray(1), 403, 'SignatureDoesNotMatch'],
      ['longer', part, Buffer.concat([right, right]), 403, 'SignatureDoesNotMatch'],
      ['no checksum', { ...part, headers: {} }, right, 403, 'SignatureDoesNotMatch'],
      ['another checksum', { ...part, headers: { 'content-md5': md5Of(other) } }, other, 403, 'SignatureDoesNotMatch'],
      ['another number', { ...part, url: asNumber1 }, right, 403, 'SignatureDoesNotMatch'],
    ] as const) {
      assert.deepEqual(await put(sent, body), { status, code }, name);
    }
    await sendPart(store, bytes, 1);
    assert.equal((await open(store)).offset, PART, 'nothing of it was stored');
    assert.equal((await put(part, right)).status, 200);
    await commit(store);
    await assertStored(store, bytes);
  });

  it('are rejected when their URL has expired', async (t) => {
    const { store } = await openProxied(t);
    const bytes = randomBytes(10);
    await begin(store, { size: bytes.length });
    const { parts } = await presignParts(store)('id', [{ number: 1, md5: md5Of(bytes) }], { expires: 1 });
    const [part] = parts;
    assert.ok(part);
    const { code } = await until('the URL has expired', async () => {
      const response = await put(part, bytes);
      return response.status !== 200 && response;
    });
    assert.match(code ?? '', /AccessDenied|ExpiredToken/);
  });

  it('are rejected after the upload was removed or committed, and leave nothing', async (t) => {
    const { store, bucket } = await openProxied(t);
    const bytes = randomBytes(10);
    for (const end of ['remove', 'commit'] as const) {
      await begin(store, { size: bytes.length });
      const [part] = await presign(store, bytes, [1]);
      assert.ok(part);
      assert.equal((await put(part, bytes)).status, 200);
      await (end === 'remove' ? (await open(store)).remove() : commit(store));
      assert.deepEqual(await put(part, bytes), { status: 404, code: 'NoSuchUpload' }, end);
      assert.deepEqual(await bucket.openUploads(), []);
      assert.deepEqual(await bucket.keys(), end === 'remove' ? [] : ['a']);
    }
  });

  it('leave nothing if they are in progress while the upload is removed', async (t) => {
    const { bucket } = await openProxied(t);
    const store = openS3({ ...bucket.settings, warn() {} });
    t.after(() => store.close?.());
    const bytes = randomBytes(10);
    await begin(store, { size: bytes.length });
    const [part] = await presign(store, bytes, [1]);
    assert.ok(part);
    const headers = { ...part.headers, 'content-length': part.size, expect: '100-continue' };
    const sent = request(part.url, { method: 'PUT', headers });
    const responded = once(sent, 'response');
    const accepted = once(sent, 'continue');
    sent.flushHeaders();
    // The bucket has accepted the signature, and waits for the body.
    await accepted;
    await (await open(store)).remove();
    sent.end(bytes);
    const [response] = (await responded) as [IncomingMessage];
    assert.match(await text(response), /NoSuchUpload/);
    assert.deepEqual(await bucket.openUploads(), []);
    assert.deepEqual(await bucket.keys(), []);
  });

  it('are aborted again if one arrives during the abort', async (t) => {
    const { store, bucket, proxy } = await openProxied(t);
    const bytes = randomBytes(10);
    await begin(store, { size: bytes.length });
    const [part] = await presign(store, bytes, [1]);
    assert.ok(part);
    let aborts = 0;
    // Amazon S3 can keep a part that arrives meanwhile: the first abort has no effect.
    proxy.intercept(({ operation }) =>
      operation === 'AbortMultipartUpload' && ++aborts === 1 ? { status: 204 } : undefined,
    );
    await (await open(store)).remove();
    assert.equal(aborts, 2);
    assert.deepEqual(await bucket.openUploads(), []);
  });

  it('continue what arrived through the service, and the other way round', async (t) => {
    const opened = await openProxied(t);
    const { store } = opened;
    const bytes = randomBytes(3 * PART + 10);
    await begin(store, { size: bytes.length });
    assert.equal(await append(store, bytes.subarray(0, PART + 100)), PART + 100);
    await sendPart(store, bytes, 2);
    assert.equal((await open(store)).offset, 2 * PART);
    assert.equal(await append(store, bytes.subarray(2 * PART, 2 * PART + 7)), 2 * PART + 7);
    await sendPart(store, bytes, 4);
    assert.equal((await open(store)).offset, 2 * PART + 7);
    await sendPart(store, bytes, 3);
    assert.equal((await open(store)).offset, bytes.length);
    await commit(store);
    await assertOnly(opened, bytes);
  });

  it('arrive while a request writes the same parts, and do not damage the file', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy } = opened;
    const bytes = randomBytes(3 * PART + 1);
    await begin(store, { size: bytes.length });
    const direct = await presign(store, bytes, [1, 2, 3, 4]);
    assert.equal((await put(direct[3] as PresignedPart, bytes.subarray(3 * PART))).status, 200);
    const appending = await open(store);
    proxy.forget();
    const body = async function* () {
      yield bytes.subarray(0, PART + 10);
      // The service has replaced the last part, whose single byte would otherwise count.
      await until('the service sends its first part', () => proxy.count('UploadPart') >= 2);
      for (const part of direct.slice(0, 3)) {
        const { offset, size } = part;
        assert.equal((await put(part, bytes.subarray(offset, offset + size))).status, 200);
      }
      yield bytes.subarray(PART + 10, 2 * PART);
    };
    assert.equal(await appending.append(Readable.from(body())), 2 * PART);
    assert.equal((await open(store)).offset, 3 * PART, 'the replaced part does not count');
    await append(store, bytes.subarray(3 * PART));
    await commit(store);
    await assertOnly(opened, bytes);
  });

  it('do not make parts count that were never verified', async (t) => {
    const { store, proxy } = await openProxied(t);
    const bytes = randomBytes(3 * PART);
    await begin(store, { size: bytes.length });
    const verify = async () => {
      throw new Error('wrong checksum');
    };
    await assert.rejects((await open(store)).append(Readable.from([Buffer.alloc(3 * PART)]), { verify }), /wrong/);
    assert.equal(proxy.count('UploadPart'), 2);
    await sendPart(store, bytes, 1);
    assert.equal((await open(store)).offset, PART);
    // Parts could arrive before those of a body that still has to be verified.
    const checked = await open(store);
    const sent = checked.append(Readable.from([bytes.subarray(PART)]), { verify: async () => {} });
    await assert.rejects(sent, { code: 'upload-in-use' });
    assert.equal(await append(store, bytes.subarray(PART)), bytes.length);
    await commit(store);
    await assertStored(store, bytes);
  });

  it('can be replaced during the commit, which then fails and can be repeated', async (t) => {
    const { store, proxy } = await openProxied(t);
    const [bytes, other] = [randomBytes(10), randomBytes(10)];
    await begin(store, { size: 10 });
    await sendPart(store, bytes, 1);
    const [part] = await presign(store, other, [1]);
    assert.ok(part);
    let isReplaced = false;
    proxy.intercept(async ({ operation }) => {
      if (operation !== 'CompleteMultipartUpload' || isReplaced) return undefined;
      isReplaced = true;
      assert.equal((await put(part, other)).status, 200);
      return undefined;
    });
    await assert.rejects(commit(store), { code: 'upload-in-use' });
    await commit(store);
    await assertStored(store, other);
  });

  it('start again if the bucket has removed the earlier ones', async (t) => {
    const opened = await openProxied(t);
    const { store, bucket } = opened;
    const bytes = randomBytes(PART + 10);
    await begin(store, { size: bytes.length });
    await sendPart(store, bytes, 1);
    const { Uploads = [] } = await bucket.client.send(new ListMultipartUploadsCommand({ Bucket: bucket.name }));
    for (const { Key, UploadId } of Uploads) {
      await bucket.client.send(new AbortMultipartUploadCommand({ Bucket: bucket.name, Key, UploadId }));
    }
    assert.equal((await open(store)).offset, 0);
    for (const number of [1, 2]) assert.equal((await sendPart(store, bytes, number)).status, 200);
    await commit(store);
    await assertOnly(opened, bytes);
  });

  it('exist only for an upload with a size, and within that size', async (t) => {
    const { store, bucket } = await openProxied(t);
    await begin(store, { id: 'sized', size: PART + 1 });
    await begin(store, { id: 'unsized' });
    await begin(store, { id: 'empty', size: 0 });
    const md5 = md5Of(Buffer.alloc(0));
    const refused = (id: string, number: number) => presignParts(store)(id, [{ number, md5 }], { expires: 60 });
    await assert.rejects(refused('other', 1), ofKind('not-found'));
    await assert.rejects(refused('unsized', 1), ofKind('invalid-request'));
    await assert.rejects(refused('empty', 1), ofKind('invalid-request'));
    for (const number of [0, -1, 3, 10_001]) await assert.rejects(refused('sized', number), ofKind('invalid-request'));
    assert.deepEqual(await presignParts(store)('sized', [], { expires: 60 }), { partSize: PART, parts: [] });
    assert.deepEqual(await bucket.openUploads(), [], 'the multipart upload begins with the first part');
    assert.equal((await commit(store, 'empty')).size, 0);
  });

  it('can be presigned again after an error of the bucket', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    const bytes = randomBytes(10);
    await begin(store, { size: bytes.length });
    // The multipart upload begins, but can't be recorded.
    proxy.intercept(({ operation }) => (operation === 'PutObject' ? errorResponse(403, 'AccessDenied') : undefined));
    await assert.rejects(presign(store, bytes, [1]), ofKind('denied'));
    assert.deepEqual(await bucket.openUploads(), []);
    proxy.intercept(undefined);
    await sendPart(store, bytes, 1);
    await commit(store);
    await assertOnly(opened, bytes);
  });
});

function presignParts(store: Store): NonNullable<Store['presignParts']> {
  assert.ok(store.presignParts);
  return store.presignParts;
}

/** Presigns some parts of a content. */
async function presign(store: Store, bytes: Buffer, numbers: readonly number[]): Promise<readonly PresignedPart[]> {
  const requested = numbers.map((number) => {
    const md5 = md5Of(bytes.subarray((number - 1) * PART, number * PART));
    return { number, md5 };
  });
  const { parts, partSize } = await presignParts(store)('id', requested, { expires: 60 });
  assert.equal(partSize, PART);
  for (const [index, { number, offset, size }] of parts.entries()) {
    assert.equal(number, numbers[index]);
    assert.deepEqual({ offset, size }, { offset: (number - 1) * PART, size: Math.min(PART, bytes.length - offset) });
  }
  return parts;
}

async function sendPart(store: Store, bytes: Buffer, number: number): ReturnType<typeof put> {
  const [part] = await presign(store, bytes, [number]);
  assert.ok(part);
  return put(part, bytes.subarray(part.offset, part.offset + part.size));
}

/** Sends a request as a browser does. Returns the status, and the error code of the bucket. */
async function put(
  { url, headers }: Pick<PresignedPart, 'url' | 'headers'>,
  bytes: Buffer,
): Promise<{ readonly status: number; readonly code?: string }> {
  const response = await fetch(url, { method: 'PUT', headers, body: new Uint8Array(bytes) });
  const body = await response.text();
  const [, code] = /<Code>(\w+)<\/Code>/.exec(body) ?? [];
  return { status: response.status, ...(code !== undefined && { code }) };
}
