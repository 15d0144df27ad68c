import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { PassThrough, Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { describe, it } from 'node:test';
import { StoreError } from '../../src/domain/error.ts';
import { assertSameBytes } from '../contract/bytes.ts';
import { until } from '../process/until.ts';
import {
  blobOf,
  collect,
  firstBytes,
  heldHost,
  hostOf,
  KIB,
  MIB,
  neverAsked,
  openCache,
  openFilesIn,
  sizesIn,
  unavailable,
} from './github-blobs.ts';

describe('a blob on its way', () => {
  it('is downloaded once for all its readers, and the slowest holds up nobody', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(3 * MIB));
    const host = hostOf(blob);
    const readers = await Promise.all(Array.from({ length: 20 }, () => cache.open(blob, host.fetch)));
    const [slow, ...others] = readers;
    assert.ok(slow);
    const first = await firstBytes(slow);
    for (const bytes of await Promise.all(others.map((reader) => buffer(reader)))) assert.ok(bytes.equals(blob.bytes));
    assert.ok(!slow.readableEnded && !slow.destroyed);
    assert.ok(Buffer.concat([first, await buffer(slow)]).equals(blob.bytes));
    assert.equal(host.calls, 1);
  });

  it('is read as it comes, and ends when its sha was found right', async (t) => {
    const { cache, folder } = await openCache(t);
    const blob = blobOf(randomBytes(300 * KIB));
    const body = new PassThrough();
    const reader = await cache.open(blob, async () => body);
    const { received, ended } = collect(reader);
    for (const end of [10, 100 * KIB, 300 * KIB - 1]) {
      body.write(blob.bytes.subarray(received.length, end));
      await until(`${end} bytes are there`, () => received.length === end);
    }
    body.write(blob.bytes.subarray(-1));
    await until('all bytes are in the file', async () => (await sizesIn(folder)).includes(blob.size));
    // Others read from the same file meanwhile: there was time enough to give out the last byte as well.
    for (let round = 0; round < 20; round++) {
      await buffer(await cache.open(blob, neverAsked, { range: { start: 0, end: blob.size - 2 } }));
    }
    assert.equal(received.length, blob.size - 1);
    body.end();
    await ended;
    assert.ok(received.bytes().equals(blob.bytes));
  });

  it('gives ranges as soon as their bytes are there', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(200 * KIB));
    const body = new PassThrough();
    const fetch = async () => body;
    const middle = await cache.open(blob, fetch, { range: { start: 70_000, end: 150_000 } });
    const first = await cache.open(blob, fetch, { range: { start: 0, end: 0 } });
    const last = await cache.open(blob, fetch, { range: { start: blob.size - 1, end: blob.size - 1 } });
    const end = buffer(last);
    body.write(blob.bytes.subarray(0, 150_001));
    assertSameBytes(await buffer(middle), blob.bytes.subarray(70_000, 150_001));
    assert.deepEqual(await buffer(first), blob.bytes.subarray(0, 1));
    body.end(blob.bytes.subarray(150_001));
    assert.deepEqual(await end, blob.bytes.subarray(-1));
  });

  it('opens when the host has answered, and fails for all who wait when it refuses', async (t) => {
    const { cache, folder } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    const refusal = new StoreError('unavailable', 'The host takes no more requests for now.', { retryAfter: 7 });
    const answer = Promise.withResolvers<Readable>();
    let calls = 0;
    const fetch = () => {
      calls++;
      return answer.promise;
    };
    const waiting = [cache.open(blob, fetch), cache.open(blob, fetch)];
    await until('the host was asked', () => calls > 0);
    answer.reject(refusal);
    for (const opened of waiting) await assert.rejects(opened, refusal);
    assert.equal(calls, 1);
    assert.deepEqual(await readdir(folder), []);
    assertSameBytes(await buffer(await cache.open(blob, hostOf(blob).fetch)), blob.bytes);
  });

  it('is given up when the last reader leaves, and not before', async (t) => {
    const { cache, folder } = await openCache(t);
    const blob = blobOf(randomBytes(MIB));
    const { body, fetch, signals } = heldHost();
    const [one, two] = await Promise.all([cache.open(blob, fetch), cache.open(blob, fetch)]);
    body.write(blob.bytes.subarray(0, 1000));
    await firstBytes(one);
    one.destroy();
    body.write(blob.bytes.subarray(1000, 2000));
    assert.ok((await firstBytes(two)).length > 0);
    assert.equal(signals[0]?.aborted, false);
    two.destroy();
    await until('the download is given up', () => signals[0]?.aborted === true && body.destroyed);
    const host = hostOf(blob);
    assertSameBytes(await buffer(await cache.open(blob, host.fetch)), blob.bytes);
    assert.equal(host.calls, 1);
    await until('nothing else is left', async () => (await readdir(folder)).join() === blob.sha);
  });

  it('is taken up again by a reader who comes when it was just given up', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    const { fetch } = heldHost();
    (await cache.open(blob, fetch)).destroy();
    assertSameBytes(await buffer(await cache.open(blob, hostOf(blob).fetch)), blob.bytes);
  });

  it('is left at once by the signal of its reader', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    const reason = new Error('The request was given up.');
    const [before, meanwhile, reading] = [new AbortController(), new AbortController(), new AbortController()];
    before.abort(reason);
    await assert.rejects(cache.open(blob, neverAsked, { signal: before.signal }), reason);

    const answer = Promise.withResolvers<Readable>();
    const { body, fetch, signals } = heldHost(answer.promise);
    const other = cache.open(blob, fetch, { signal: reading.signal });
    const opened = cache.open(blob, fetch, { signal: meanwhile.signal });
    await until('the host was asked', () => signals.length > 0);
    meanwhile.abort(reason);
    await assert.rejects(opened, reason);
    assert.equal(signals[0]?.aborted, false);

    answer.resolve(body);
    const reader = await other;
    body.write(blob.bytes.subarray(0, 10));
    const rest = buffer(reader);
    reading.abort(reason);
    await assert.rejects(rest, reason);
    assert.equal(signals[0]?.aborted, true);
  });

  it('is not asked for when its reader has left before', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    const host = hostOf(blob);
    const leaving = new AbortController();
    const opened = cache.open(blob, host.fetch, { signal: leaving.signal });
    leaving.abort();
    await assert.rejects(opened, { name: 'AbortError' });
    await cache.close();
    assert.equal(host.calls, 0);
  });

  it('destroys what a host sends that did not listen when it was told to end', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    const leaving = new AbortController();
    const answer = Promise.withResolvers<Readable>();
    const asked = Promise.withResolvers<void>();
    const body = new PassThrough();
    const fetch = () => {
      asked.resolve();
      return answer.promise;
    };
    const opened = cache.open(blob, fetch, { signal: leaving.signal });
    await asked.promise;
    leaving.abort();
    await assert.rejects(opened, { name: 'AbortError' });
    answer.resolve(body);
    await until('the body is destroyed', () => body.destroyed);
  });

  it('does not wait for a host that stalls, before the first byte or behind it', async (t) => {
    for (const sent of [0, 500]) {
      const { cache } = await openCache(t, { stallAfter: 50 });
      const blob = blobOf(randomBytes(1000));
      const { body, fetch, signals } = heldHost();
      const reader = await cache.open(blob, fetch);
      if (sent > 0) body.write(blob.bytes.subarray(0, sent));
      await assert.rejects(buffer(reader), unavailable(/stopped sending/));
      assert.ok(body.destroyed && signals[0]?.aborted);
    }
  });

  it('waits for a host that is slow, as long as bytes come', async (t) => {
    const stallAfter = 800;
    const { cache } = await openCache(t, { stallAfter });
    const blob = blobOf(randomBytes(MIB));
    const { body, fetch } = heldHost();
    const { received, ended } = collect(await cache.open(blob, fetch));
    const start = performance.now();
    for (let sent = 1; performance.now() - start < 1.2 * stallAfter; sent++) {
      body.write(blob.bytes.subarray(sent - 1, sent));
      await until('it is there', () => received.length === sent);
    }
    body.end(blob.bytes.subarray(received.length));
    await ended;
    assert.ok(received.bytes().equals(blob.bytes));
  });

  it('can be read by pipelines and loops, which may stop at any time', async (t) => {
    const { cache, folder } = await openCache(t);
    const blob = blobOf(randomBytes(MIB));
    const { fetch } = hostOf(blob);
    const written: Buffer[] = [];
    const sink = new Writable({
      write(chunk, _encoding, done) {
        written.push(chunk);
        setImmediate(done);
      },
    });
    await pipeline(await cache.open(blob, fetch), sink);
    assert.ok(Buffer.concat(written).equals(blob.bytes));
    for await (const chunk of await cache.open(blob, fetch)) {
      assert.ok(blob.bytes.subarray(0, chunk.length).equals(chunk));
      break;
    }
    const never = await cache.open(blob, fetch);
    never.destroy();
    const failing = new Writable({ write: (_chunk, _encoding, done) => done(new Error('The client is gone.')) });
    await assert.rejects(pipeline(await cache.open(blob, fetch), failing), /client is gone/);
    await until('no file is open', async () => (await openFilesIn(folder)).length === 0);
  });
});
