import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import {
  AbortMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
} from '@aws-sdk/client-s3';
import type { Store, UploadDestination } from '../../src/model/store.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { openProxied, type ProxiedBucket } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse, firstOf, type S3Request } from '../../testing/servers/s3-proxy.ts';
import { until } from '../../testing/until.ts';
import { file, ofKind, plant, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { append, assertOnly, assertStored, begin, commit, open, PART } from './s3-uploading.ts';

export const needs: readonly Need[] = ['bucket'];

describe('An upload in parts to a bucket', { concurrency: CONCURRENT_TESTS }, () => {
  for (const size of [10, PART + 10]) {
    it(`of ${size} bytes is continued by another process, and leaves only the file`, async (t) => {
      const { store, bucket, other } = await openTwo(t);
      const bytes = randomBytes(size);
      await begin(store, { size });
      await append(store, bytes.subarray(0, 4));
      await append(other, bytes.subarray(4, size - 2));
      await append(store, bytes.subarray(size - 2));
      await commit(other);
      await assertStored(store, bytes);
      assert.deepEqual(await bucket.keys(), ['a']);
      assert.deepEqual(await bucket.openUploads(), []);
    });

    it(`of ${size} bytes leaves nothing when it is removed, also by two processes`, async (t) => {
      const { store, bucket, other } = await openTwo(t);
      await begin(store, { size });
      await append(store, randomBytes(size));
      const uploads = await Promise.all([open(store), open(other)]);
      await Promise.all(uploads.map((each) => each.remove()));
      assert.deepEqual(await bucket.keys(), []);
      assert.deepEqual(await bucket.openUploads(), []);
    });
  }

  it('has no parts in a multipart upload that a paused process has begun and not recorded', async (t) => {
    const { store, proxy, bucket, other } = await openTwo(t);
    const bytes = randomBytes(PART + 10);
    await begin(store, { size: bytes.length });
    const continued = Promise.withResolvers<undefined>();
    const isRecord = ({ operation, key }: S3Request) => operation === 'PutObject' && key !== 'a';
    proxy.forget();
    proxy.intercept((request) => (isRecord(request) ? continued.promise : undefined));
    const paused = assert.rejects(append(store, bytes), { code: 'upload-in-use' });
    await until('the process sends the record', () => proxy.requests.some(isRecord));
    await append(other, bytes);
    await commit(other);
    await assertStored(other, bytes);
    // A killed process leaves it. A paused one aborts it when it continues.
    assert.deepEqual([await bucket.openUploads(), await bucket.openParts()], [['a'], []]);
    continued.resolve(undefined);
    await paused;
    assert.deepEqual(await bucket.openUploads(), []);
  });

  it('below the size of a part sends its file in one request', async (t) => {
    const { store, proxy } = await openProxied(t);
    await begin(store, { size: 3 });
    await append(store, 'abc');
    await commit(store);
    assert.equal(proxy.count('CreateMultipartUpload'), 0);
    assert.equal(proxy.requests.filter(({ operation, key }) => operation === 'PutObject' && key === 'a').length, 1);
  });

  it('sends at most four parts at once, and three of a body that is verified', async (t) => {
    const { store, proxy } = await openProxied(t);
    const bytes = randomBytes(6 * PART);
    for (const [id, verify, limit] of [
      ['plain', undefined, 4],
      ['verified', async () => {}, 3],
    ] as const) {
      proxy.forget();
      let received = 0;
      const all = Promise.withResolvers<undefined>();
      // Holds all responses until the expected parts are in progress, so that another one would be counted.
      proxy.intercept(({ operation }) => {
        if (operation !== 'UploadPart') return undefined;
        if (++received === limit) all.resolve(undefined);
        return all.promise;
      });
      await begin(store, { id, size: bytes.length });
      assert.equal(await (await open(store, id)).append(Readable.from([bytes]), { verify }), bytes.length);
      assert.equal(proxy.maxConcurrent('UploadPart'), limit);
      proxy.intercept(undefined);
      await commit(store, id);
      await assertStored(store, bytes);
    }
  });

  it('does not count parts after a missing one, also not when the missing one arrives', async (t) => {
    const { store, bucket, proxy } = await openProxied(t);
    const bytes = randomBytes(3 * PART + 1);
    await begin(store, { size: bytes.length });
    proxy.intercept(({ operation, query }) =>
      operation === 'UploadPart' && query.get('partNumber') === '2' ? errorResponse(403, 'AccessDenied') : undefined,
    );
    const failing = await open(store);
    await assert.rejects(failing.append(Readable.from([Buffer.alloc(3 * PART + 1)])), ofKind('denied'));
    proxy.intercept(undefined);
    // The first part has other bytes than those that follow it.
    assert.equal((await open(store)).offset, PART);
    assert.equal(await append(store, bytes.subarray(PART, 2 * PART)), 2 * PART);
    assert.equal((await open(store)).offset, 2 * PART);
    assert.equal(await append(store, bytes.subarray(2 * PART)), bytes.length);
    await commit(store);
    await assertStored(store, Buffer.concat([Buffer.alloc(PART), bytes.subarray(PART)]));
    assert.deepEqual(await bucket.openUploads(), []);
  });

  it('keeps what a newer request added when an older one continues', async (t) => {
    const { store } = await openProxied(t);
    const bytes = randomBytes(PART + 100);
    await begin(store, { size: bytes.length });
    await append(store, bytes.subarray(0, 10));
    /** Appends some bytes, while a newer request appends more. */
    const appendSlowly = async (start: number, ends: readonly [number, number]) => {
      const body = async function* () {
        yield bytes.subarray(start, start + 5);
        assert.equal(await append(store, bytes.subarray(start, ends[1])), ends[1]);
        yield bytes.subarray(start + 5, ends[0]);
      };
      assert.equal(await (await open(store)).append(Readable.from(body())), ends[0]);
      assert.equal((await open(store)).offset, ends[1]);
    };
    await appendSlowly(10, [30, 60]);
    await appendSlowly(60, [90, bytes.length]);
    await commit(store);
    await assertStored(store, bytes);
  });

  it('leaves nothing when an older request ends after the upload was removed', async (t) => {
    for (const size of [10, PART + 10]) {
      const { store, bucket } = await openProxied(t);
      await begin(store, { size: size + 10 });
      await append(store, randomBytes(size));
      const old = await open(store);
      const reason = new Error('The client disconnected.');
      const broken = async function* () {
        yield Buffer.from('x');
        await (await open(store)).remove();
        throw reason;
      };
      await assert.rejects(old.append(Readable.from(broken())));
      assert.deepEqual(await bucket.keys(), []);
      assert.deepEqual(await bucket.openUploads(), []);
    }
  });

  it('starts again if the bucket has removed its parts', async (t) => {
    const { store, bucket } = await openProxied(t);
    const bytes = randomBytes(PART + 10);
    await begin(store, { size: bytes.length });
    await append(store, bytes);
    const { Uploads = [] } = await bucket.client.send(new ListMultipartUploadsCommand({ Bucket: bucket.name }));
    for (const { Key, UploadId } of Uploads) {
      await bucket.client.send(new AbortMultipartUploadCommand({ Bucket: bucket.name, Key, UploadId }));
    }
    assert.equal((await open(store)).offset, 0);
    await assert.rejects(commit(store), ofKind('invalid-request'));
    assert.equal(await append(store, bytes), bytes.length);
    await commit(store);
    await assertStored(store, bytes);
    assert.deepEqual(await bucket.keys(), ['a']);
    assert.deepEqual(await bucket.openUploads(), []);
  });

  it('leaves no versions of its own objects in a bucket with object versions', async (t) => {
    const bucket = await createBucket(undefined, { isVersioned: true });
    t.after(() => bucket.remove());
    const store = openS3({ ...bucket.settings, warn: () => {} });
    t.after(() => store.close?.());
    for (const id of ['committed', 'removed']) {
      await begin(store, { id, size: 4 });
      await append(store, 'ab', id);
      await append(store, 'cd', id);
      await (id === 'removed' ? (await open(store, id)).remove() : commit(store, id));
    }
    const { Versions = [], DeleteMarkers = [] } = await bucket.client.send(
      new ListObjectVersionsCommand({ Bucket: bucket.name }),
    );
    assert.deepEqual(
      [...Versions, ...DeleteMarkers].map(({ Key }) => Key),
      ['a'],
    );
  });

  it('has no destination in the folder of Holdall', async (t) => {
    const { store } = await openProxied(t);
    for (const path of ['.holdall', '.holdall/uploads/x/upload.json']) {
      await assert.rejects(begin(store, { file: file(path) }), ofKind('not-found'), path);
    }
  });
});

describe('The commit of an upload in parts to a bucket', { concurrency: CONCURRENT_TESTS }, () => {
  const commits = [
    ['PutObject', 10],
    ['CompleteMultipartUpload', PART + 10],
  ] as const;
  for (const [operation, size] of commits) {
    for (const condition of ['absent', undefined] as const) {
      const name = condition ? ' with the condition "absent"' : '';

      it(`succeeds when the response to ${operation} is lost${name}`, async (t) => {
        const opened = await openProxied(t);
        const bytes = await beginComplete(opened, { size, condition });
        opened.proxy.intercept(ofFile(firstOf(operation, () => 'cut when done')));
        await commit(opened.store, 'id', { condition });
        await assertOnly(opened, bytes);
      });

      it(`completes when it is repeated after all responses to ${operation} were lost${name}`, async (t) => {
        const opened = await openProxied(t);
        const { store, proxy } = opened;
        await plant(store, { b: 'other' });
        const bytes = await beginComplete(opened, { size, condition });
        // The store executes the first request and then is unreachable.
        let isDone = false;
        proxy.intercept(({ operation: sent, key }) => {
          if (isDone) return 'cut';
          if (sent !== operation || key !== 'a') return undefined;
          isDone = true;
          return 'cut when done';
        });
        await assert.rejects(commit(store, 'id', { condition }), ofKind('unavailable'));
        proxy.intercept(undefined);
        assert.equal((await open(store)).offset, size);
        const { etag } = await commit(store, 'id', { condition });
        assert.equal(etag, (await store.stat(file('a'))).etag);
        await assertOnly(opened, bytes, 'b');
      });
    }
  }

  it('can be repeated without another version of its own content', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy } = opened;
    await plant(store, { a: 'first' });
    // The store learns in which form the bucket understands ETags, so that the commit needs one request.
    const { etag } = await store.stat(file('a'));
    await store.write(file('a'), upload('old'), { condition: { etag } });
    const bytes = await beginComplete(opened, { size: 10 });
    let isDone = false;
    proxy.intercept(({ operation, key }) => {
      if (isDone) return 'cut';
      if (operation !== 'PutObject' || key !== 'a') return undefined;
      isDone = true;
      return 'cut when done';
    });
    await assert.rejects(commit(store, 'id', { keep: {} }), ofKind('unavailable'));
    proxy.intercept(undefined);
    await commit(store, 'id', { keep: {} });
    await assertStored(store, bytes);
    const { versions = [] } = (await store.listVersions?.(file('a'))) ?? {};
    assert.deepEqual(
      versions.map(({ size }) => size),
      [3],
    );
  });
});

async function openTwo(t: TestContext): Promise<ProxiedBucket & { readonly other: Store }> {
  const opened = await openProxied(t);
  const other = openS3({ ...opened.bucket.settings, warn: () => {} });
  t.after(() => other.close?.());
  return { ...opened, other };
}

/** Begins an upload of which everything has arrived. */
async function beginComplete(
  { store }: Pick<ProxiedBucket, 'store'>,
  target: Pick<UploadDestination, 'condition'> & { readonly size: number },
): Promise<Buffer> {
  const bytes = randomBytes(target.size);
  await begin(store, target);
  await append(store, bytes);
  return bytes;
}

/** Intercepts only the requests for the file `a`. */
const ofFile =
  (interceptor: ReturnType<typeof firstOf>): ReturnType<typeof firstOf> =>
  (request) =>
    request.key === 'a' ? interceptor(request) : undefined;
