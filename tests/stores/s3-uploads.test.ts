import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WriteOptions } from '../../src/model/store.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { openProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse, firstOf } from '../../testing/servers/s3-proxy.ts';
import { assertVideo, video } from '../../testing/servers/video.ts';
import { file, ofKind, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { PART } from './s3-uploading.ts';

export const needs: readonly Need[] = ['bucket'];

/** Bytes of a file that has two parts. */
const IN_PARTS = PART + 1000;

describe('An upload', { concurrency: CONCURRENT_TESTS }, () => {
  it('below the size of a part sends one PutObject', async (t) => {
    const opened = await openProxied(t);
    for (const size of [0, 1, PART - 1]) {
      for (const announced of [size, undefined]) {
        opened.proxy.forget();
        await opened.store.write(file('a'), { ...video(size), size: announced });
        assert.deepEqual(
          opened.proxy.requests.map(({ operation }) => operation),
          ['PutObject'],
        );
        await assertVideo(opened, 'a', size);
      }
    }
  });

  it('sends parts of equal size, at most four concurrently', async (t) => {
    const opened = await openProxied(t);
    const { proxy, store } = opened;
    const size = 4 * PART + 1001;
    let received = 0;
    const fourReceived = Promise.withResolvers<undefined>();
    // Holds all responses until four parts are in progress, so a fifth would be counted.
    proxy.intercept(({ operation }) => {
      if (operation !== 'UploadPart') return undefined;
      if (++received === 4) fourReceived.resolve(undefined);
      return fourReceived.promise;
    });
    const { etag } = await store.write(file('a'), video(size));
    assert.equal(proxy.maxConcurrent('UploadPart'), 4);
    const parts = proxy.requests.filter(({ operation }) => operation === 'UploadPart');
    const sizes = new Map(
      parts.map(({ query, headers }) => [Number(query.get('partNumber')), Number(headers['content-length'])]),
    );
    assert.deepEqual(
      [...sizes].toSorted(([left], [right]) => left - right),
      [...Array.from({ length: 4 }, (_, index) => [index + 1, PART]), [5, 1001]],
    );
    await assertVideo(opened, 'a', size);
    assert.equal((await store.stat(file('a'))).etag, etag);
    assert.deepEqual(await opened.bucket.openUploads(), []);
  });

  it('of exactly one or two parts is complete', async (t) => {
    const opened = await openProxied(t);
    for (const size of [PART, 2 * PART]) {
      await opened.store.write(file('a'), video(size));
      await assertVideo(opened, 'a', size);
    }
  });

  it('of unknown length stores all bytes', async (t) => {
    const opened = await openProxied(t);
    for (const size of [PART, 2 * PART, 4 * PART + 1]) {
      await opened.store.write(file('a'), { ...video(size), size: undefined });
      await assertVideo(opened, 'a', size);
    }
  });

  it('sends If-None-Match or If-Match with PutObject and CompleteMultipartUpload', async (t) => {
    const { store, proxy } = await openProxied(t);
    const headersOf = (name: string) => proxy.requests.find(({ operation }) => operation === name)?.headers;
    const { etag } = await store.write(file('a'), upload('text'), { condition: 'absent' });
    assert.equal(headersOf('PutObject')?.['if-none-match'], '*');
    proxy.forget();
    await store.write(file('b'), video(IN_PARTS), { condition: 'absent' });
    assert.equal(headersOf('CompleteMultipartUpload')?.['if-none-match'], '*');
    proxy.forget();
    await store.write(file('a'), upload('another'), { condition: { etag } });
    assert.match(headersOf('PutObject')?.['if-match'] ?? '', new RegExp(`^"?${etag}"?$`));
    proxy.forget();
    const { etag: current } = await store.stat(file('a'));
    await store.write(file('a'), video(IN_PARTS), { condition: { etag: current } });
    assert.match(headersOf('CompleteMultipartUpload')?.['if-match'] ?? '', new RegExp(`^"?${current}"?$`));
  });

  it('in parts enforces its condition on a store that ignores it', async (t) => {
    const { store, bucket } = await openProxied(t);
    await store.write(file('a'), upload('old'));
    for (const condition of ['absent', { etag: 'another' }] as const) {
      await assert.rejects(store.write(file('a'), video(IN_PARTS), { condition }), ofKind('condition-failed'));
      assert.equal(await textOf(store, 'a'), 'old');
      assert.deepEqual(await bucket.openUploads(), []);
    }
  });
});

describe('An upload that reports its outcome', () => {
  it('sends no request to learn whether it replaced an object', async (t) => {
    const { store, proxy } = await openProxied(t);
    await store.write(file('a'), video(1000), { onOutcome: () => assert.fail('The outcome is unknown.') });
    assert.deepEqual(
      proxy.requests.map(({ operation }) => operation),
      ['PutObject'],
    );
  });
});

describe('An upload whose response is lost', () => {
  for (const [operation, size] of [
    ['PutObject', 1000],
    ['UploadPart', IN_PARTS],
    ['CompleteMultipartUpload', IN_PARTS],
  ] as const) {
    it(`succeeds on the retry of ${operation}, with and without a condition`, async (t) => {
      const opened = await openProxied(t);
      for (const [path, condition] of [
        ['a', 'absent'],
        ['b', undefined],
      ] as const) {
        opened.proxy.intercept(firstOf(operation, () => 'cut when done'));
        const outcomes: boolean[] = [];
        const onOutcome: WriteOptions['onOutcome'] = ({ replaced }) => void outcomes.push(replaced);
        await opened.store.write(file(path), video(size), { condition, onOutcome });
        await assertVideo(opened, path, size);
        assert.deepEqual(await opened.bucket.openUploads(), []);
        assert.deepEqual(outcomes, condition ? [false] : []);
      }
    });
  }

  it('succeeds when the retry of CompleteMultipartUpload returns NoSuchUpload', async (t) => {
    const opened = await openProxied(t);
    let completions = 0;
    opened.proxy.intercept(({ operation }) => {
      if (operation !== 'CompleteMultipartUpload') return undefined;
      return ++completions === 1 ? 'cut when done' : errorResponse(404, 'NoSuchUpload');
    });
    await opened.store.write(file('a'), video(IN_PARTS));
    await assertVideo(opened, 'a', IN_PARTS);
  });
});
