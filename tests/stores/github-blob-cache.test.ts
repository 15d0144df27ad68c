import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { PassThrough, Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { describe, it } from 'node:test';
import { StoreError } from '../../src/model/error.ts';
import { until } from '../../testing/until.ts';
import { assertSameBytes } from '../contract/bytes.ts';
import {
  blobOf,
  collect,
  controlledHost,
  failOnFetch,
  firstBytes,
  hostOf,
  KIB,
  MIB,
  openCache,
  openFilesIn,
  sizesIn,
  unavailable,
} from './github-blobs.ts';

describe('A blob during its download', () => {
  it('is downloaded once for 20 readers, and a slow reader does not block the others', async (t) => {
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

  it('streams bytes as they arrive, and holds back the last byte until the hash is verified', async (t) => {
    const { cache, folder } = await openCache(t);
    const blob = blobOf(randomBytes(300 * KIB));
    const body = new PassThrough();
    const reader = await cache.open(blob, async () => body);
    const { received, ended } = collect(reader);
    for (const end of [10, 100 * KIB, 300 * KIB - 1]) {
      body.write(blob.bytes.subarray(received.length, end));
      await until(`${end} bytes are received`, () => received.length === end);
    }
    body.write(blob.bytes.subarray(-1));
    await until('all bytes are in the file', async () => (await sizesIn(folder)).includes(blob.size));
    // 20 complete reads of the same file leave enough time for a premature last byte to show up.
    for (let round = 0; round < 20; round++) {
      await buffer(await cache.open(blob, failOnFetch, { range: { start: 0, end: blob.size - 2 } }));
    }
    assert.equal(received.length, blob.size - 1);
    body.end();
    await ended;
    assert.ok(received.bytes().equals(blob.bytes));
  });

  it('returns a range as soon as its bytes have arrived', async (t) => {
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

  it('rejects all pending opens when the host rejects the request, and retries on the next open', async (t) => {
    const { cache, folder } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    const rateLimited = new StoreError('unavailable', 'The rate limit is exceeded.', { retryAfter: 7 });
    const response = Promise.withResolvers<Readable>();
    let calls = 0;
    const fetch = () => {
      calls++;
      return response.promise;
    };
    const pending = [cache.open(blob, fetch), cache.open(blob, fetch)];
    await until('the host receives the request', () => calls > 0);
    response.reject(rateLimited);
    for (const opened of pending) await assert.rejects(opened, rateLimited);
    assert.equal(calls, 1);
    assert.deepEqual(await readdir(folder), []);
    assertSameBytes(await buffer(await cache.open(blob, hostOf(blob).fetch)), blob.bytes);
  });

  it('aborts the download when the last reader closes, not earlier', async (t) => {
    const { cache, folder } = await openCache(t);
    const blob = blobOf(randomBytes(MIB));
    const { body, fetch, signals } = controlledHost();
    const [one, two] = await Promise.all([cache.open(blob, fetch), cache.open(blob, fetch)]);
    body.write(blob.bytes.subarray(0, 1000));
    await firstBytes(one);
    one.destroy();
    body.write(blob.bytes.subarray(1000, 2000));
    assert.ok((await firstBytes(two)).length > 0);
    assert.equal(signals[0]?.aborted, false);
    two.destroy();
    await until('the download is aborted', () => signals[0]?.aborted === true && body.destroyed);
    const host = hostOf(blob);
    assertSameBytes(await buffer(await cache.open(blob, host.fetch)), blob.bytes);
    assert.equal(host.calls, 1);
    await until('only the complete blob remains', async () => (await readdir(folder)).join() === blob.sha);
  });

  it('starts a new download for a reader that opens right after an abort', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    const { fetch } = controlledHost();
    (await cache.open(blob, fetch)).destroy();
    assertSameBytes(await buffer(await cache.open(blob, hostOf(blob).fetch)), blob.bytes);
  });

  it('rejects at once when the signal of its reader aborts: before, during and after the open', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    const reason = new Error('The request was aborted.');
    const [beforeOpen, duringOpen, afterOpen] = [new AbortController(), new AbortController(), new AbortController()];
    beforeOpen.abort(reason);
    await assert.rejects(cache.open(blob, failOnFetch, { signal: beforeOpen.signal }), reason);

    const response = Promise.withResolvers<Readable>();
    const { body, fetch, signals } = controlledHost(response.promise);
    const other = cache.open(blob, fetch, { signal: afterOpen.signal });
    const opened = cache.open(blob, fetch, { signal: duringOpen.signal });
    await until('the host receives the request', () => signals.length > 0);
    duringOpen.abort(reason);
    await assert.rejects(opened, reason);
    assert.equal(signals[0]?.aborted, false);

    response.resolve(body);
    const reader = await other;
    body.write(blob.bytes.subarray(0, 10));
    const rest = buffer(reader);
    afterOpen.abort(reason);
    await assert.rejects(rest, reason);
    assert.equal(signals[0]?.aborted, true);
  });

  it('sends no request when its reader aborts before the download starts', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    const host = hostOf(blob);
    const aborter = new AbortController();
    const opened = cache.open(blob, host.fetch, { signal: aborter.signal });
    aborter.abort();
    await assert.rejects(opened, { name: 'AbortError' });
    await cache.close();
    assert.equal(host.calls, 0);
  });

  it('destroys a body that arrives after the abort because the fetch ignored the signal', async (t) => {
    const { cache } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    const aborter = new AbortController();
    const response = Promise.withResolvers<Readable>();
    const requested = Promise.withResolvers<void>();
    const body = new PassThrough();
    const fetch = () => {
      requested.resolve();
      return response.promise;
    };
    const opened = cache.open(blob, fetch, { signal: aborter.signal });
    await requested.promise;
    aborter.abort();
    await assert.rejects(opened, { name: 'AbortError' });
    response.resolve(body);
    await until('the body is destroyed', () => body.destroyed);
  });

  it('fails when the host stalls, before or after the first byte', async (t) => {
    for (const sent of [0, 500]) {
      const { cache } = await openCache(t, { stallAfter: 50 });
      const blob = blobOf(randomBytes(1000));
      const { body, fetch, signals } = controlledHost();
      const reader = await cache.open(blob, fetch);
      if (sent > 0) body.write(blob.bytes.subarray(0, sent));
      await assert.rejects(buffer(reader), unavailable(/stopped sending/));
      assert.ok(body.destroyed && signals[0]?.aborted);
    }
  });

  it('does not fail when the host is slow but keeps sending', async (t) => {
    const stallAfter = 60_000;
    const { cache } = await openCache(t, { stallAfter });
    const { setTimeout: start } = globalThis;
    const timer = { left: stallAfter, fire: () => {}, refresh: () => void (timer.left = stallAfter) };
    // The timers of `mock.timers` can't be refreshed.
    t.mock.method(globalThis, 'setTimeout', (callback: () => void, delay: number) => {
      if (delay !== stallAfter) return start(callback, delay);
      timer.fire = callback;
      return timer as unknown as NodeJS.Timeout;
    });
    const blob = blobOf(randomBytes(MIB));
    const { body, fetch } = controlledHost();
    const { received, ended } = collect(await cache.open(blob, fetch));
    for (let sent = 1; sent <= 3; sent++) {
      body.write(blob.bytes.subarray(sent - 1, sent));
      await until('the byte is received', () => received.length === sent);
      timer.left -= 0.6 * stallAfter;
      if (timer.left <= 0) timer.fire();
    }
    body.end(blob.bytes.subarray(received.length));
    await ended;
    assert.ok(received.bytes().equals(blob.bytes));
  });

  it('can be read by pipelines and loops, and closes its file when they stop early', async (t) => {
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
    const unread = await cache.open(blob, fetch);
    unread.destroy();
    const failing = new Writable({ write: (_chunk, _encoding, done) => done(new Error('The client disconnected.')) });
    await assert.rejects(pipeline(await cache.open(blob, fetch), failing), /client disconnected/);
    await until('no file is open', async () => (await openFilesIn(folder)).length === 0);
  });
});
