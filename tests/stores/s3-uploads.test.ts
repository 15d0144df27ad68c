import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WriteOptions } from '../../src/model/store.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { openProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse, firstOf } from '../../testing/servers/s3-proxy.ts';
import { assertVideo, MIB, video } from '../../testing/servers/video.ts';
import { file, ofKind, textOf, upload } from '../contract/bytes.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

describe('An upload', { concurrency: CONCURRENT_TESTS }, () => {
  for (const size of isFullForm ? [0, 1, 8 * MIB - 1] : [8 * MIB - 1]) {
    it(`of ${size} bytes sends one PutObject`, async (t) => {
      const opened = await openProxied(t);
      for (const announced of [size, undefined]) {
        opened.proxy.forget();
        await opened.store.write(file('a'), { ...video(size), size: announced });
        assert.deepEqual(
          opened.proxy.requests.map(({ operation }) => operation),
          ['PutObject'],
        );
        await assertVideo(opened, 'a', size);
      }
    });
  }

  it('of 33 MiB sends parts of 8 MiB, at most four concurrently', async (t) => {
    const opened = await openProxied(t);
    const { proxy, store } = opened;
    const size = 33 * MIB + 1;
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
      [...Array.from({ length: 4 }, (_, index) => [index + 1, 8 * MIB]), [5, MIB + 1]],
    );
    await assertVideo(opened, 'a', size);
    assert.equal((await store.stat(file('a'))).etag, etag);
    assert.deepEqual(await opened.bucket.openUploads(), []);
  });

  it('of exactly one or two parts is complete', IN_FULL_FORM_ONLY, async (t) => {
    const opened = await openProxied(t);
    for (const size of [8 * MIB, 16 * MIB]) {
      await opened.store.write(file('a'), video(size));
      await assertVideo(opened, 'a', size);
    }
  });

  it('of unknown length stores all bytes, with at most two parts in flight', async (t) => {
    const opened = await openProxied(t);
    for (const size of isFullForm ? [8 * MIB, 16 * MIB, 33 * MIB] : [33 * MIB]) {
      opened.proxy.forget();
      await opened.store.write(file('a'), { ...video(size), size: undefined });
      await assertVideo(opened, 'a', size);
      assert.ok(opened.proxy.maxConcurrent('UploadPart') <= 2, 'At most two parts of 16 MiB are in flight.');
    }
  });

  it('sends If-None-Match or If-Match with PutObject and CompleteMultipartUpload', async (t) => {
    const { store, proxy } = await openProxied(t);
    const headersOf = (name: string) => proxy.requests.find(({ operation }) => operation === name)?.headers;
    const { etag } = await store.write(file('a'), upload('text'), { condition: 'absent' });
    assert.equal(headersOf('PutObject')?.['if-none-match'], '*');
    proxy.forget();
    await store.write(file('b'), video(9 * MIB), { condition: 'absent' });
    assert.equal(headersOf('CompleteMultipartUpload')?.['if-none-match'], '*');
    proxy.forget();
    await store.write(file('a'), upload('another'), { condition: { etag } });
    assert.match(headersOf('PutObject')?.['if-match'] ?? '', new RegExp(`^"?${etag}"?$`));
    proxy.forget();
    const { etag: current } = await store.stat(file('a'));
    await store.write(file('a'), video(9 * MIB), { condition: { etag: current } });
    assert.match(headersOf('CompleteMultipartUpload')?.['if-match'] ?? '', new RegExp(`^"?${current}"?$`));
  });

  it('in parts enforces its condition on a store that ignores it', IN_FULL_FORM_ONLY, async (t) => {
    const { store, bucket } = await openProxied(t);
    await store.write(file('a'), upload('old'));
    for (const condition of ['absent', { etag: 'another' }] as const) {
      await assert.rejects(store.write(file('a'), video(9 * MIB), { condition }), ofKind('condition-failed'));
      assert.equal(await textOf(store, 'a'), 'old');
      assert.deepEqual(await bucket.openUploads(), []);
    }
  });
});

describe('An upload that reports its outcome', () => {
  it('sends no request to learn whether it replaced an object', async (t) => {
    const { store, proxy } = await openProxied(t);
    await store.write(file('a'), video(MIB), { onOutcome: () => assert.fail('The outcome is unknown.') });
    assert.deepEqual(
      proxy.requests.map(({ operation }) => operation),
      ['PutObject'],
    );
  });
});

describe('An upload whose response is lost', () => {
  const uploads = [
    ['PutObject', MIB],
    ['UploadPart', 9 * MIB],
    ['CompleteMultipartUpload', 9 * MIB],
  ] as const;
  for (const condition of isFullForm ? ([undefined, 'absent'] as const) : (['absent'] as const)) {
    for (const [operation, size] of uploads) {
      it(`succeeds on the retry of ${operation}${condition ? ' with the condition "absent"' : ''}`, async (t) => {
        const opened = await openProxied(t);
        opened.proxy.intercept(firstOf(operation, () => 'cut when done'));
        const outcomes: boolean[] = [];
        const onOutcome: WriteOptions['onOutcome'] = ({ replaced }) => void outcomes.push(replaced);
        await opened.store.write(file('a'), video(size), { condition, onOutcome });
        await assertVideo(opened, 'a', size);
        assert.deepEqual(await opened.bucket.openUploads(), []);
        assert.deepEqual(outcomes, condition ? [false] : []);
      });
    }
  }

  it('succeeds when the retry of CompleteMultipartUpload returns NoSuchUpload', async (t) => {
    const opened = await openProxied(t);
    let completions = 0;
    opened.proxy.intercept(({ operation }) => {
      if (operation !== 'CompleteMultipartUpload') return undefined;
      return ++completions === 1 ? 'cut when done' : errorResponse(404, 'NoSuchUpload');
    });
    await opened.store.write(file('a'), video(9 * MIB));
    await assertVideo(opened, 'a', 9 * MIB);
  });
});
