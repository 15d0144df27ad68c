import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { assertSameBytes } from '../contract/bytes.ts';
import { mountTmpfs } from '../faults/mounts.ts';
import {
  blobOf,
  controlledHost,
  failOnFetch,
  firstBytes,
  hostOf,
  KIB,
  MIB,
  openCache,
  openFilesIn,
  unavailable,
} from './github-blobs.ts';

describe('The cache folder', () => {
  it('serves whole blobs and ranges after a restart without a request to the host', async (t) => {
    const { cache, folder } = await openCache(t);
    const blob = blobOf(randomBytes(MIB));
    await buffer(await cache.open(blob, hostOf(blob).fetch));
    await cache.close();
    const { cache: reopened } = await openCache(t, { folder });
    assert.ok((await buffer(await reopened.open(blob, failOnFetch))).equals(blob.bytes));
    for (const [start, end] of [[0, 0] as const, [65_535, 65_536] as const, [10, MIB - 1] as const]) {
      const part = await buffer(await reopened.open(blob, failOnFetch, { range: { start, end } }));
      assert.ok(part.equals(blob.bytes.subarray(start, end + 1)), `${start}-${end}`);
    }
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    assert.equal((await stat(join(folder, blob.sha))).mode & 0o777, 0o600);
    assertSameBytes(await readFile(join(folder, blob.sha)), blob.bytes);
  });

  it('can be shared by two processes that download the same blob at the same time', async (t) => {
    const { cache: one, folder } = await openCache(t);
    const { cache: two } = await openCache(t, { folder });
    const blob = blobOf(randomBytes(MIB));
    const [host, other] = [hostOf(blob), hostOf(blob)];
    const opened = await Promise.all([one.open(blob, host.fetch), two.open(blob, other.fetch)]);
    for (const bytes of await Promise.all(opened.map((reader) => buffer(reader)))) assert.ok(bytes.equals(blob.bytes));
    assert.deepEqual([host.calls, other.calls], [1, 1]);
    assert.deepEqual(await readdir(folder), [blob.sha]);
  });

  it('evicts the least recently used blobs when it exceeds its size', async (t) => {
    const { cache, folder } = await openCache(t, { size: 100_000 });
    const blobs = Array.from({ length: 4 }, () => blobOf(randomBytes(20_000)));
    for (const [index, blob] of blobs.entries()) {
      await buffer(await cache.open(blob, hostOf(blob).fetch));
      await utimes(join(folder, blob.sha), 1_000_000 + index, 1_000_000 + index);
    }
    const [oldest, second, third, fourth] = blobs;
    assert.ok(oldest && second && third && fourth);
    await buffer(await cache.open(oldest, failOnFetch));
    const large = blobOf(randomBytes(50_000));
    await buffer(await cache.open(large, hostOf(large).fetch));
    const kept = [oldest.sha, fourth.sha, large.sha].toSorted().join();
    await until(
      'the least recently used blobs are evicted',
      async () => (await readdir(folder)).toSorted().join() === kept,
    );
  });

  it('evicts blobs at startup when the configured size is smaller, and only then', async (t) => {
    const { cache, folder } = await openCache(t);
    for (let index = 0; index < 5; index++) {
      const blob = blobOf(randomBytes(10_000));
      await buffer(await cache.open(blob, hostOf(blob).fetch));
    }
    await cache.close();
    await openCache(t, { folder, size: 30_000 });
    await until('three blobs are evicted', async () => (await readdir(folder)).length === 2);
    await openCache(t, { folder, size: 0 });
    await until('the folder is empty', async () => (await readdir(folder)).length === 0);
    // Only at startup: the cache does not scan its folder periodically.
    await writeFile(join(folder, '0'.repeat(40)), 'from another process');
    for (let round = 0; round < 50; round++) assert.equal((await readdir(folder)).length, 1);
  });

  it('caches nothing at size 0, and no blob that is larger than the cache', async (t) => {
    for (const size of [0, 99_999]) {
      const { cache, folder } = await openCache(t, { size });
      const blob = blobOf(randomBytes(100_000));
      const { body, fetch } = controlledHost();
      const [one, two] = await Promise.all([cache.open(blob, fetch), cache.open(blob, failOnFetch)]);
      body.write(blob.bytes.subarray(0, 50_000));
      await firstBytes(one);
      assert.deepEqual(await readdir(folder), []);
      body.end(blob.bytes.subarray(50_000));
      assert.ok((await buffer(two)).equals(blob.bytes));
      one.destroy();
      await until('no file is open', async () => (await openFilesIn(folder)).length === 0);
      const host = hostOf(blob);
      assert.ok((await buffer(await cache.open(blob, host.fetch))).equals(blob.bytes));
      assert.equal(host.calls, 1);
      assert.deepEqual(await readdir(folder), []);
    }
  });

  const corruptions: Record<string, { size: number; corrupt: (path: string) => Promise<void> }> = {
    'is truncated': { size: 1000, corrupt: (path) => truncate(path, 999) },
    'is empty': { size: 1000, corrupt: (path) => truncate(path, 0) },
    'has extra bytes': { size: 1000, corrupt: (path) => writeFile(path, 'more', { flag: 'a' }) },
    'has different bytes': { size: 100_000, corrupt: (path) => writeFile(path, Buffer.alloc(100_000)) },
    'is large and truncated': { size: 9 * MIB, corrupt: (path) => truncate(path, 9 * MIB - 4096) },
  };
  for (const [name, { size, corrupt }] of Object.entries(corruptions)) {
    it(`downloads a blob again when its file ${name}`, async (t) => {
      const blob = blobOf(randomBytes(size));
      const { cache, folder } = await openCache(t);
      await buffer(await cache.open(blob, hostOf(blob).fetch));
      await cache.close();
      await corrupt(join(folder, blob.sha));
      const { cache: reopened, warnings } = await openCache(t, { folder, mayWarn: true });
      const busy = new Error('The host is busy.');
      await assert.rejects(
        reopened.open(blob, async () => Promise.reject(busy)),
        busy,
      );
      assert.deepEqual(await readdir(folder), []);
      const host = hostOf(blob);
      const readers = await Promise.all([reopened.open(blob, host.fetch), reopened.open(blob, host.fetch)]);
      for (const bytes of await Promise.all(readers.map((reader) => buffer(reader))))
        assert.ok(bytes.equals(blob.bytes));
      assert.equal(host.calls, 1);
      assert.deepEqual(warnings, ['A cached file is damaged and will be downloaded again.']);
      assertSameBytes(await readFile(join(folder, blob.sha)), blob.bytes);
    });
  }

  it('is created again after its removal', async (t) => {
    const { cache, folder } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    for (let round = 0; round < 2; round++) {
      await rm(folder, { recursive: true, force: true });
      assertSameBytes(await buffer(await cache.open(blob, hostOf(blob).fetch)), blob.bytes);
    }
  });

  it('serves a blob and logs a warning when a folder occupies the name of its file', async (t) => {
    const { cache, folder, warnings } = await openCache(t, { mayWarn: true });
    const blob = blobOf(randomBytes(1000));
    await mkdir(join(folder, blob.sha, 'occupied'), { recursive: true });
    assertSameBytes(await buffer(await cache.open(blob, hostOf(blob).fetch)), blob.bytes);
    assert.equal(warnings.at(-1), 'A file could not be cached (CACHE_DIR).');
    await until('no temporary file remains', async () => (await readdir(folder)).join() === blob.sha);
  });

  it('fails with an error that names CACHE_DIR when it cannot be created, without a request', async (t) => {
    const parent = await temporaryFolder(t);
    await writeFile(join(parent, 'file'), '');
    const { cache } = await openCache(t, { folder: join(parent, 'file', 'blobs'), mayWarn: true });
    await assert.rejects(cache.open(blobOf(randomBytes(10)), failOnFetch), {
      ...unavailable(/\(CACHE_DIR\) can't be written to/),
      retryAfter: 30,
    });
  });

  it('fails with an error that names CACHE_DIR when the disk is full, and works for a smaller blob', async (t) => {
    const folder = join(await temporaryFolder(t), 'small');
    const reason = await mountTmpfs(t, folder, 'size=1m');
    if (reason) return t.skip(reason);
    const { cache } = await openCache(t, { folder });
    const large = blobOf(randomBytes(2 * MIB));
    const { fetch, signals } = hostOf(large);
    const readers = await Promise.all([cache.open(large, fetch), cache.open(large, fetch)]);
    for (const reader of readers) {
      await assert.rejects(buffer(reader), { ...unavailable(/\(CACHE_DIR\) is on a full disk/), retryAfter: 30 });
    }
    assert.equal(signals[0]?.aborted, true);
    await until('the folder is empty again', async () => (await readdir(folder)).length === 0);
    const small = blobOf(randomBytes(900 * KIB));
    assert.ok((await buffer(await cache.open(small, hostOf(small).fetch))).equals(small.bytes));
  });
});
