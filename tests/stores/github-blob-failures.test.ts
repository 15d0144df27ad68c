import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { StoreError } from '../../src/model/error.ts';
import { until } from '../../testing/until.ts';
import {
  blobOf,
  collect,
  controlledHost,
  endless,
  failOnFetch,
  firstBytes,
  hostOf,
  KIB,
  MIB,
  openCache,
  openFilesIn,
  truncatedBlob,
  unavailable,
} from './github-blobs.ts';

describe('A download that does not match its hash', () => {
  const bytes = randomBytes(200 * KIB);
  const changed = Buffer.from(bytes);
  changed[0] = (changed[0] ?? 0) ^ 1;
  const bodies: Record<string, { body: () => Readable; message: RegExp }> = {
    'different bytes': { body: () => Readable.from([changed]), message: /do not match the hash/ },
    'a truncated body': { body: () => Readable.from([bytes.subarray(0, -1)]), message: /do not match the hash/ },
    'an empty body': { body: () => Readable.from([]), message: /do not match the hash/ },
    'a body that is too long': {
      body: () => Readable.from([bytes, Buffer.from('more')]),
      message: /do not match the hash/,
    },
    'an endless body': { body: () => Readable.from(endless()), message: /do not match the hash/ },
    'a reset connection': {
      body: () => Readable.from(truncatedBlob(bytes.subarray(0, 70_000))),
      message: /closed the connection/,
    },
  };
  for (const [name, { body, message }] of Object.entries(bodies)) {
    it(`fails before the last byte, is not cached, and is downloaded again: ${name}`, async (t) => {
      const { cache, folder } = await openCache(t);
      const blob = blobOf(bytes);
      const readers = await Promise.all([cache.open(blob, async () => body()), cache.open(blob, failOnFetch)]);
      for (const reader of readers) {
        const { received, ended } = collect(reader);
        await assert.rejects(ended, unavailable(message));
        assert.ok(received.length < blob.size);
      }
      // Opened at once: a new reader must not join the failed download.
      assert.ok((await buffer(await cache.open(blob, hostOf(blob).fetch))).equals(bytes));
      await until('only the correct blob is cached', async () => (await readdir(folder)).join() === blob.sha);
    });
  }

  it('rejects with the error of the body', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(bytes);
    const failure = new StoreError('denied', 'The host revoked the permission.');
    const { body, fetch } = controlledHost();
    const reader = await cache.open(blob, fetch);
    body.destroy(failure);
    await assert.rejects(buffer(reader), failure);
  });
});

describe('An empty blob', () => {
  it('is an empty stream without a request to the host', async (t) => {
    const { cache } = await openCache(t);
    assert.equal((await buffer(await cache.open(blobOf(Buffer.alloc(0)), failOnFetch))).length, 0);
  });
});

describe('Closing the cache', () => {
  it('aborts downloads, fails their readers, and leaves no file open', async (t) => {
    const { cache, folder } = await openCache(t);
    const [partial, pending, cached] = [blobOf(randomBytes(MIB)), blobOf(randomBytes(10)), blobOf(randomBytes(MIB))];
    await buffer(await cache.open(cached, hostOf(cached).fetch));
    const unread = await cache.open(cached, failOnFetch);
    const host = controlledHost();
    const reader = await cache.open(partial, host.fetch);
    host.body.write(partial.bytes.subarray(0, 1000));
    await firstBytes(reader);
    const silent = controlledHost(new Promise(() => {}));
    const waiting = assert.rejects(cache.open(pending, silent.fetch), unavailable(/shutting down/));
    await until('the host receives the request', () => silent.signals.length > 0);

    await cache.close();
    await assert.rejects(buffer(reader), unavailable(/shutting down/));
    await assert.rejects(buffer(unread), unavailable(/shutting down/));
    await waiting;
    assert.ok(host.body.destroyed);
    assert.deepEqual(await readdir(folder), [cached.sha]);
    assert.deepEqual(await openFilesIn(folder), []);
    await assert.rejects(cache.open(cached, failOnFetch), unavailable(/shutting down/));
  });

  it('rejects an open in progress', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(MIB));
    await buffer(await cache.open(blob, hostOf(blob).fetch));
    const opened = cache.open(blob, failOnFetch);
    await Promise.all([assert.rejects(opened, unavailable(/shutting down/)), cache.close()]);
  });

  it('waits for the response of a fetch that ignores the abort signal', async (t) => {
    const { cache } = await openCache(t);
    const requested = Promise.withResolvers<void>();
    const response = Promise.withResolvers<Readable>();
    const order: string[] = [];
    const opened = cache.open(blobOf(randomBytes(1000)), () => {
      requested.resolve();
      return response.promise;
    });
    const rejected = assert.rejects(opened, unavailable(/shutting down/));
    await requested.promise;
    const close = async () => {
      await cache.close();
      order.push('closed');
    };
    const closed = close();
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    order.push('responded');
    const body = new PassThrough();
    response.resolve(body);
    await Promise.all([closed, rejected]);
    assert.deepEqual(order, ['responded', 'closed']);
    assert.ok(body.destroyed);
  });
});
