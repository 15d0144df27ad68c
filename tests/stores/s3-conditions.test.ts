import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { bytesAt, LARGE, MAX_COPY_BYTES, OTHER, put, transfersOf } from '../../testing/servers/objects.ts';
import { openProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse, type Interceptor, type S3Request } from '../../testing/servers/s3-proxy.ts';
import { file, folder, ofKind, plant, textOf, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

const hasCondition = ({ headers }: S3Request) =>
  (headers['if-none-match'] ?? headers['if-match'] ?? headers['x-amz-copy-source-if-match']) !== undefined;

/** Refuses every request of these operations that has a condition. */
const refuseConditions =
  (status: number, code: string, ...operations: string[]): Interceptor =>
  (request) =>
    operations.includes(request.operation) && hasCondition(request) ? errorResponse(status, code) : undefined;

const large = (content: Buffer) => ({ body: Readable.from([content]), size: content.length, type: 'text/plain' });

describe('A store that returns 501 for conditions on PutObject', () => {
  it('renames, moves, copies, uploads and creates folders, and enforces each condition', async (t) => {
    const { store, proxy, warnings } = await openProxied(t);
    proxy.intercept(refuseConditions(501, 'NotImplemented', 'PutObject'));
    const { copy, move } = transfersOf(store);
    await store.write(file('a'), upload('one'), { condition: 'absent' });
    const before = await store.stat(file('a'));
    await store.write(file('a'), upload('one'), { condition: { etag: before.etag } });
    proxy.forget();
    await copy(file('a'), file('b'), { replace: false });
    await move(file('b'), file('c'), { replace: false });
    await store.createFolder(folder('f'));
    const { etag } = await store.stat(file('a'));
    await store.write(file('a'), upload('two'), { condition: { etag } });
    assert.ok(!proxy.requests.some(hasConditionOnPut), 'The store remembers that conditions are unsupported.');
    await assert.rejects(store.write(file('a'), upload('x'), { condition: 'absent' }), ofKind('condition-failed'));
    await assert.rejects(store.write(file('a'), upload('x'), { condition: { etag } }), ofKind('condition-failed'));
    await assert.rejects(copy(file('a'), file('c'), { replace: false }), ofKind('already-exists'));
    await assert.rejects(move(file('a'), file('c'), { replace: false }), ofKind('already-exists'));
    assert.deepEqual(await treeOf(store), { a: 'two', c: 'one', 'f/': null });
    assert.deepEqual(
      warnings.map(({ message }) => message),
      [
        'The object store does not support If-None-Match on PutObject: Holdall checks the destination before each write.',
        'The object store does not support If-Match on PutObject: Holdall checks the file before each write.',
      ],
    );
  });
});

const hasConditionOnPut = (request: S3Request) => request.operation === 'PutObject' && hasCondition(request);

describe('A store that returns 412 for conditions that hold', () => {
  const operations = ['CopyObject', 'UploadPartCopy', 'CompleteMultipartUpload', 'DeleteObject', 'PutObject'];

  it('copies, moves and replaces small and large objects, and enforces each condition', async (t) => {
    const opened = await openProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
    const { store, proxy, bucket, warnings } = opened;
    proxy.intercept(refuseConditions(412, 'PreconditionFailed', ...operations));
    const { copy, move, moveFolder } = transfersOf(store);
    await store.write(file('large'), large(LARGE), { condition: 'absent' });
    await copy(file('large'), file('copy'), { replace: false });
    await move(file('copy'), file('moved'), { replace: true });
    await plant(store, { 'f/small': 'text' });
    await moveFolder(folder('f'), folder('g'), { replace: false });
    const { etag } = await store.stat(file('large'));
    await store.write(file('large'), large(OTHER), { condition: { etag } });
    assert.deepEqual(await bucket.keys(), ['g/small', 'large', 'moved']);
    assert.ok((await bytesAt(opened, 'moved')).equals(LARGE));
    assert.ok((await bytesAt(opened, 'large')).equals(OTHER));
    assert.deepEqual(await bucket.openUploads(), []);
    const write = store.write(file('large'), large(LARGE), { condition: { etag } });
    await assert.rejects(write, ofKind('condition-failed'));
    await assert.rejects(store.remove(file('large'), { ifMatch: etag }), ofKind('condition-failed'));
    assert.equal(new Set(warnings.map(({ message }) => message)).size, warnings.length, 'Each warning is logged once.');
    assert.ok(warnings.length >= 3, JSON.stringify(warnings));
  });

  it('does not delete an object that changed after it was listed', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await plant(store, { 'f/a': 'one', 'f/b': 'two' });
    proxy.intercept(async ({ operation, key }) => {
      if (operation === 'DeleteObjects') return errorResponse(501, 'NotImplemented');
      if (operation !== 'DeleteObject') return undefined;
      if (key === 'f/a') await put(opened, 'f/a', 'changed');
      return errorResponse(412, 'PreconditionFailed');
    });
    await transfersOf(store)
      .moveFolder(folder('f'), folder('g'), { replace: false })
      .catch(() => {});
    proxy.intercept(undefined);
    assert.equal(await textOf(store, 'f/a'), 'changed');
    assert.ok((await bucket.keys()).includes('g/a'));
  });
});

describe('A store that does not support UploadPartCopy', () => {
  for (const maxCopyBytes of [MAX_COPY_BYTES, 5 * 2 ** 30]) {
    it(`copies large objects without it (CopyObject limit: ${maxCopyBytes} bytes)`, async (t) => {
      const opened = await openProxied(t, { maxCopyBytes });
      const { store, proxy, bucket, warnings } = opened;
      for (const response of [errorResponse(501, 'NotImplemented'), { status: 200, headers: { etag: '"1"' } }]) {
        proxy.intercept(({ operation }) => (operation === 'UploadPartCopy' ? response : undefined));
        await store.write(file('a'), large(LARGE));
        await transfersOf(store).move(file('a'), file('b'), { replace: false });
        assert.ok((await bytesAt(opened, 'b')).equals(LARGE));
        assert.deepEqual(await bucket.keys(), ['b']);
        assert.deepEqual(await bucket.openUploads(), []);
        await store.remove(file('b'));
      }
      assert.equal(warnings.length, 1);
    });
  }
});
