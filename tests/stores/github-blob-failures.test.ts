import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { StoreError } from '../../src/domain/error.ts';
import { until } from '../process/until.ts';
import {
  blobOf,
  brokenOff,
  collect,
  endless,
  firstBytes,
  heldHost,
  hostOf,
  KIB,
  MIB,
  neverAsked,
  openCache,
  openFilesIn,
  unavailable,
} from './github-blobs.ts';

describe('a blob that is not what it should be', () => {
  const bytes = randomBytes(200 * KIB);
  const changed = Buffer.from(bytes);
  changed[0] = (changed[0] ?? 0) ^ 1;
  const bodies: Record<string, { body: () => Readable; problem: RegExp }> = {
    'has other bytes': { body: () => Readable.from([changed]), problem: /something else/ },
    'is too short': { body: () => Readable.from([bytes.subarray(0, -1)]), problem: /something else/ },
    'is empty': { body: () => Readable.from([]), problem: /something else/ },
    'is too long': { body: () => Readable.from([bytes, Buffer.from('more')]), problem: /something else/ },
    'goes on for ever': { body: () => Readable.from(endless()), problem: /something else/ },
    'breaks off': { body: () => Readable.from(brokenOff(bytes.subarray(0, 70_000))), problem: /broke off/ },
  };
  for (const [name, { body, problem }] of Object.entries(bodies)) {
    it(`fails before its last byte, is not kept, and is fetched anew: ${name}`, async (t) => {
      const { cache, folder } = await openCache(t);
      const blob = blobOf(bytes);
      const readers = await Promise.all([cache.open(blob, async () => body()), cache.open(blob, neverAsked)]);
      for (const reader of readers) {
        const { received, ended } = collect(reader);
        await assert.rejects(ended, unavailable(problem));
        assert.ok(received.length < blob.size);
      }
      // At once: what has failed is joined by nobody.
      assert.ok((await buffer(await cache.open(blob, hostOf(blob).fetch))).equals(bytes));
      await until('only the right one is kept', async () => (await readdir(folder)).join() === blob.sha);
    });
  }

  it('tells what the body itself says of its failure', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(bytes);
    const problem = new StoreError('denied', 'The host thinks otherwise by now.');
    const { body, fetch } = heldHost();
    const reader = await cache.open(blob, fetch);
    body.destroy(problem);
    await assert.rejects(buffer(reader), problem);
  });
});

describe('an empty blob', () => {
  it('is an empty stream, and needs no host', async (t) => {
    const { cache } = await openCache(t);
    assert.equal((await buffer(await cache.open(blobOf(Buffer.alloc(0)), neverAsked))).length, 0);
  });
});

describe('closing', () => {
  it('ends downloads, whose readers are told, and leaves no file open', async (t) => {
    const { cache, folder } = await openCache(t);
    const [coming, asked, kept] = [blobOf(randomBytes(MIB)), blobOf(randomBytes(10)), blobOf(randomBytes(MIB))];
    await buffer(await cache.open(kept, hostOf(kept).fetch));
    const unread = await cache.open(kept, neverAsked);
    const host = heldHost();
    const reader = await cache.open(coming, host.fetch);
    host.body.write(coming.bytes.subarray(0, 1000));
    await firstBytes(reader);
    const silent = heldHost(new Promise(() => {}));
    const waiting = assert.rejects(cache.open(asked, silent.fetch), unavailable(/stopping/));
    await until('the host was asked', () => silent.signals.length > 0);

    await cache.close();
    await assert.rejects(buffer(reader), unavailable(/stopping/));
    await assert.rejects(buffer(unread), unavailable(/stopping/));
    await waiting;
    assert.ok(host.body.destroyed);
    assert.deepEqual(await readdir(folder), [kept.sha]);
    assert.deepEqual(await openFilesIn(folder), []);
    await assert.rejects(cache.open(kept, neverAsked), unavailable(/stopping/));
  });

  it('ends also what is only being opened', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(MIB));
    await buffer(await cache.open(blob, hostOf(blob).fetch));
    const opened = cache.open(blob, neverAsked);
    await Promise.all([assert.rejects(opened, unavailable(/stopping/)), cache.close()]);
  });

  it('waits for a host that takes its time to end', async (t) => {
    const { cache } = await openCache(t);
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Readable>();
    const order: string[] = [];
    const opened = cache.open(blobOf(randomBytes(1000)), () => {
      asked.resolve();
      return answer.promise;
    });
    const told = assert.rejects(opened, unavailable(/stopping/));
    await asked.promise;
    const close = async () => {
      await cache.close();
      order.push('closed');
    };
    const closed = close();
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    order.push('answered');
    const body = new PassThrough();
    answer.resolve(body);
    await Promise.all([closed, told]);
    assert.deepEqual(order, ['answered', 'closed']);
    assert.ok(body.destroyed);
  });
});
