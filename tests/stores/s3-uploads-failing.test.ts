import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { openProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse, errorXml, type OwnResponse, type Verdict } from '../../testing/servers/s3-proxy.ts';
import { BYTES, video } from '../../testing/servers/video.ts';
import { until } from '../../testing/until.ts';
import { file, ofKind, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { PART } from './s3-uploading.ts';

export const needs: readonly Need[] = ['bucket'];

describe('A failed upload', () => {
  const failures: Record<string, { kind: string; fail: (operation: string, part: string | null) => Verdict }> = {
    'CreateMultipartUpload is denied': {
      kind: 'denied',
      fail: (operation) => (operation === 'CreateMultipartUpload' ? errorResponse(403, 'AccessDenied') : undefined),
    },
    'a part is denied': {
      kind: 'denied',
      fail: (operation, part) =>
        operation === 'UploadPart' && part === '3' ? errorResponse(403, 'AccessDenied') : undefined,
    },
    'a part fails on every attempt': {
      kind: 'unavailable',
      fail: (operation, part) =>
        operation === 'UploadPart' && part === '2' ? errorResponse(500, 'InternalError') : undefined,
    },
    'the connection of a part breaks on every attempt': {
      kind: 'unavailable',
      fail: (operation, part) => (operation === 'UploadPart' && part === '2' ? 'cut' : undefined),
    },
    'CompleteMultipartUpload is denied': {
      kind: 'denied',
      fail: (operation) => (operation === 'CompleteMultipartUpload' ? errorResponse(403, 'AccessDenied') : undefined),
    },
    'CompleteMultipartUpload returns 500': {
      kind: 'unavailable',
      fail: (operation) => (operation === 'CompleteMultipartUpload' ? errorResponse(500, 'InternalError') : undefined),
    },
    'CompleteMultipartUpload returns 200 with an Error document': {
      kind: 'unavailable',
      fail: (operation) =>
        operation === 'CompleteMultipartUpload' ? { status: 200, body: errorXml('InternalError') } : undefined,
    },
    'the store is full (507)': {
      kind: 'unavailable',
      fail: (operation, part) =>
        operation === 'UploadPart' && part === '2' ? errorResponse(507, 'QuotaExceeded') : undefined,
    },
  };
  /** The failure in which the store accepts the other parts. */
  const STORED_PARTS = 'a part is denied';
  const PART_ACCEPTED: OwnResponse = { status: 200, headers: { etag: '"part"' } };
  for (const [name, { kind, fail }] of Object.entries(failures)) {
    it(`keeps the old object and leaves no parts when ${name}`, async (t) => {
      const { store, bucket, proxy } = await openProxied(t);
      await store.write(file('a'), upload('old'));
      const isInStore = name === STORED_PARTS;
      proxy.intercept(({ operation, query }) => {
        const accepted = operation === 'UploadPart' && !isInStore ? PART_ACCEPTED : undefined;
        return fail(operation, query.get('partNumber')) ?? accepted;
      });
      // More parts than are sent concurrently, all available at once.
      for (const [path, size] of [
        ['a', 5 * PART],
        ['b', 2 * PART + 1000],
      ] as const) {
        const sent = video(size);
        await assert.rejects(store.write(file(path), sent), ofKind(kind));
        assert.ok(sent.body.destroyed);
      }
      proxy.intercept(undefined);
      assert.deepEqual(await bucket.keys(), ['a']);
      assert.equal(await textOf(store, 'a'), 'old');
      assert.deepEqual(await bucket.openUploads(), []);
    });
  }

  it('keeps the old object and leaves no parts when its body fails', async (t) => {
    const { store, bucket } = await openProxied(t);
    await store.write(file('a'), upload('old'));
    for (const size of [PART / 2, 2.5 * PART]) {
      const broken = async function* () {
        yield BYTES.subarray(0, size);
        throw new Error('The client disconnected.');
      };
      const sent = { ...video(size), size: 5 * PART, body: Readable.from(broken(), { objectMode: false }) };
      await assert.rejects(store.write(file('a'), sent), { message: 'The client disconnected.' });
      assert.deepEqual(await bucket.keys(), ['a']);
      assert.equal(await textOf(store, 'a'), 'old');
      assert.deepEqual(await bucket.openUploads(), []);
    }
  });

  it('leaves no object and no parts when its body is shorter or longer than announced', async (t) => {
    const { store, bucket } = await openProxied(t);
    for (const size of [1000, PART + 1000]) {
      for (const announced of [size - 1, size + 1]) {
        await assert.rejects(store.write(file('b'), { ...video(size), size: announced }), ofKind('invalid-request'));
      }
    }
    assert.deepEqual(await bucket.keys(), []);
    assert.deepEqual(await bucket.openUploads(), []);
  });

  for (const operation of ['CreateMultipartUpload', 'UploadPart']) {
    it(`keeps the old object and leaves no parts when it is cancelled during ${operation}`, async (t) => {
      const { store, bucket, proxy } = await openProxied(t);
      await store.write(file('a'), upload('old'));
      proxy.forget();
      const gate = Promise.withResolvers<undefined>();
      proxy.intercept((request) => (request.operation === operation ? gate.promise : undefined));
      const controller = new AbortController();
      const sent = video(5 * PART);
      const reason = new Error('The client disconnected.');
      const failed = assert.rejects(store.write(file('a'), sent, { signal: controller.signal }), reason);
      await until('the store has received the request', () => proxy.count(operation) > 0);
      controller.abort(reason);
      gate.resolve(undefined);
      await failed;
      assert.ok(sent.body.destroyed);
      proxy.intercept(undefined);
      assert.equal(await textOf(store, 'a'), 'old');
      await until('the parts are removed', async () => (await bucket.openUploads()).length === 0);
      assert.deepEqual(await bucket.keys(), ['a']);
    });
  }

  it('is not reported when it is cancelled after the whole body was sent: the write succeeds', async (t) => {
    const { store, proxy } = await openProxied(t);
    await store.write(file('a'), upload('old'));
    const gate = Promise.withResolvers<undefined>();
    proxy.intercept((request) => (request.operation === 'PutObject' ? gate.promise : undefined));
    const controller = new AbortController();
    const writing = store.write(file('a'), upload('new'), { signal: controller.signal });
    await until('the store has received the request', () => proxy.count('PutObject') > 1);
    controller.abort(new Error('The client disconnected.'));
    gate.resolve(undefined);
    assert.equal((await writing).size, 3);
    assert.equal(await textOf(store, 'a'), 'new');
  });

  it('leaves parts, with a warning, when AbortMultipartUpload is denied', async (t) => {
    const { store, bucket, proxy, warnings } = await openProxied(t);
    proxy.intercept(({ operation, query }) =>
      operation === 'AbortMultipartUpload' || query.get('partNumber') === '2'
        ? errorResponse(403, 'AccessDenied')
        : undefined,
    );
    await assert.rejects(store.write(file('a'), video(2.5 * PART)), ofKind('denied'));
    assert.deepEqual(await bucket.openUploads(), ['a']);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]?.message ?? '', /could not be aborted/);
  });
});
