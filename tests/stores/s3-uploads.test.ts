import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { file, ofKind, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { openProxied } from '../servers/proxied-bucket.ts';
import { firstOf, refusal } from '../servers/s3-proxy.ts';
import { assertHolds, MIB, video } from '../servers/video.ts';

export const needs: readonly Need[] = ['bucket'];

describe('An upload', () => {
  for (const size of [0, 1, 8 * MIB - 1]) {
    it(`of ${size} bytes is one request`, async (t) => {
      const opened = await openProxied(t);
      for (const announced of [size, undefined]) {
        opened.proxy.forget();
        await opened.store.write(file('a'), { ...video(size), size: announced });
        assert.deepEqual(
          opened.proxy.requests.map(({ operation }) => operation),
          ['PutObject'],
        );
        await assertHolds(opened, 'a', size);
      }
    });
  }

  it('of many bytes goes in equal parts, never more than four at once', async (t) => {
    const opened = await openProxied(t);
    const { proxy, store } = opened;
    const size = 60 * MIB + 1;
    let arrived = 0;
    const fourCame = Promise.withResolvers<undefined>();
    // None is done before four have come, so that a fifth would be seen.
    proxy.intercept(({ operation }) => {
      if (operation !== 'UploadPart') return undefined;
      if (++arrived === 4) fourCame.resolve(undefined);
      return fourCame.promise;
    });
    const { etag } = await store.write(file('a'), video(size));
    assert.equal(proxy.mostAtOnce('UploadPart'), 4);
    const parts = proxy.requests.filter(({ operation }) => operation === 'UploadPart');
    const sizes = new Map(
      parts.map(({ query, headers }) => [Number(query.get('partNumber')), Number(headers['content-length'])]),
    );
    assert.deepEqual(
      [...sizes].toSorted(([left], [right]) => left - right),
      [...Array.from({ length: 7 }, (_, index) => [index + 1, 8 * MIB]), [8, 4 * MIB + 1]],
    );
    await assertHolds(opened, 'a', size);
    assert.equal((await store.stat(file('a'))).etag, etag);
    assert.deepEqual(await opened.bucket.openUploads(), []);
  });

  it('of just as many bytes as a part has is complete', async (t) => {
    const opened = await openProxied(t);
    for (const size of [8 * MIB, 16 * MIB]) {
      await opened.store.write(file('a'), video(size));
      await assertHolds(opened, 'a', size);
    }
  });

  it('of unknown length works, however long it is', async (t) => {
    const opened = await openProxied(t);
    for (const size of [8 * MIB, 16 * MIB, 40 * MIB]) {
      opened.proxy.forget();
      await opened.store.write(file('a'), { ...video(size), size: undefined });
      await assertHolds(opened, 'a', size);
      assert.ok(opened.proxy.mostAtOnce('UploadPart') <= 2, 'Parts of 16 MiB: 32 MiB in all.');
    }
  });

  it('tells the store its condition', async (t) => {
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
    const { etag: now } = await store.stat(file('a'));
    await store.write(file('a'), video(9 * MIB), { condition: { etag: now } });
    assert.match(headersOf('CompleteMultipartUpload')?.['if-match'] ?? '', new RegExp(`^"?${now}"?$`));
  });

  it('in parts holds to its condition, though the store passes over it', async (t) => {
    const { store, bucket } = await openProxied(t);
    await store.write(file('a'), upload('old'));
    for (const condition of ['absent', { etag: 'another' }] as const) {
      await assert.rejects(store.write(file('a'), video(9 * MIB), { condition }), ofKind('condition-failed'));
      assert.equal(await textOf(store, 'a'), 'old');
      assert.deepEqual(await bucket.openUploads(), []);
    }
  });
});

describe('An upload whose answer is lost', () => {
  const uploads = [
    ['PutObject', MIB],
    ['UploadPart', 9 * MIB],
    ['CompleteMultipartUpload', 9 * MIB],
  ] as const;
  for (const condition of [undefined, 'absent'] as const) {
    for (const [operation, size] of uploads) {
      it(`is found done when it is sent again: ${operation}${condition ? ', where nothing is' : ''}`, async (t) => {
        const opened = await openProxied(t);
        opened.proxy.intercept(firstOf(operation, () => 'cut when done'));
        await opened.store.write(file('a'), video(size), { condition });
        await assertHolds(opened, 'a', size);
        assert.deepEqual(await opened.bucket.openUploads(), []);
      });
    }
  }

  it('is found done where the store knows a completed upload no more', async (t) => {
    const opened = await openProxied(t);
    let completions = 0;
    opened.proxy.intercept(({ operation }) => {
      if (operation !== 'CompleteMultipartUpload') return undefined;
      return ++completions === 1 ? 'cut when done' : refusal(404, 'NoSuchUpload');
    });
    await opened.store.write(file('a'), video(9 * MIB));
    await assertHolds(opened, 'a', 9 * MIB);
  });
});
