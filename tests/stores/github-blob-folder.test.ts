import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { assertSameBytes } from '../contract/bytes.ts';
import { mountTmpfs } from '../faults/mounts.ts';
import { temporaryFolder } from '../process/holdall.ts';
import { until } from '../process/until.ts';
import {
  blobOf,
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

describe('the folder of the cache', () => {
  it('serves a process that is started again, whole and in ranges, without asking the host', async (t) => {
    const { cache, folder } = await openCache(t);
    const blob = blobOf(randomBytes(MIB));
    await buffer(await cache.open(blob, hostOf(blob).fetch));
    await cache.close();
    const { cache: after } = await openCache(t, { folder });
    assert.ok((await buffer(await after.open(blob, neverAsked))).equals(blob.bytes));
    for (const [start, end] of [[0, 0] as const, [65_535, 65_536] as const, [10, MIB - 1] as const]) {
      const part = await buffer(await after.open(blob, neverAsked, { range: { start, end } }));
      assert.ok(part.equals(blob.bytes.subarray(start, end + 1)), `${start}-${end}`);
    }
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    assert.equal((await stat(join(folder, blob.sha))).mode & 0o777, 0o600);
    assertSameBytes(await readFile(join(folder, blob.sha)), blob.bytes);
  });

  it('is shared by processes, which may fetch the same at the same time', async (t) => {
    const { cache: one, folder } = await openCache(t);
    const { cache: two } = await openCache(t, { folder });
    const blob = blobOf(randomBytes(MIB));
    const [host, other] = [hostOf(blob), hostOf(blob)];
    const opened = await Promise.all([one.open(blob, host.fetch), two.open(blob, other.fetch)]);
    for (const bytes of await Promise.all(opened.map((reader) => buffer(reader)))) assert.ok(bytes.equals(blob.bytes));
    assert.deepEqual([host.calls, other.calls], [1, 1]);
    assert.deepEqual(await readdir(folder), [blob.sha]);
  });

  it('stays within its size, and what was used least recently makes room', async (t) => {
    const { cache, folder } = await openCache(t, { size: 100_000 });
    const blobs = Array.from({ length: 4 }, () => blobOf(randomBytes(20_000)));
    for (const [index, blob] of blobs.entries()) {
      await buffer(await cache.open(blob, hostOf(blob).fetch));
      await utimes(join(folder, blob.sha), 1_000_000 + index, 1_000_000 + index);
    }
    const [oldest, second, third, fourth] = blobs;
    assert.ok(oldest && second && third && fourth);
    await buffer(await cache.open(oldest, neverAsked));
    const large = blobOf(randomBytes(50_000));
    await buffer(await cache.open(large, hostOf(large).fetch));
    const left = [oldest.sha, fourth.sha, large.sha].toSorted().join();
    await until('there is room', async () => (await readdir(folder)).toSorted().join() === left);
  });

  it('is brought within a smaller size at the start', async (t) => {
    const { cache, folder } = await openCache(t);
    for (let index = 0; index < 5; index++) {
      const blob = blobOf(randomBytes(10_000));
      await buffer(await cache.open(blob, hostOf(blob).fetch));
    }
    await cache.close();
    await openCache(t, { folder, size: 30_000 });
    await until('it is smaller', async () => (await readdir(folder)).length === 2);
    await openCache(t, { folder, size: 0 });
    await until('it is empty', async () => (await readdir(folder)).length === 0);
    // Only at the start: nobody sweeps on and on.
    await writeFile(join(folder, '0'.repeat(40)), 'of another process');
    for (let round = 0; round < 50; round++) assert.equal((await readdir(folder)).length, 1);
  });

  it('keeps nothing in a size of 0, nor what is larger than its size', async (t) => {
    for (const size of [0, 99_999]) {
      const { cache, folder } = await openCache(t, { size });
      const blob = blobOf(randomBytes(100_000));
      const { body, fetch } = heldHost();
      const [one, two] = await Promise.all([cache.open(blob, fetch), cache.open(blob, neverAsked)]);
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

  const damages: Record<string, { size: number; inflict: (path: string) => Promise<void> }> = {
    'is cut short': { size: 1000, inflict: (path) => truncate(path, 999) },
    'is empty': { size: 1000, inflict: (path) => truncate(path, 0) },
    'is longer': { size: 1000, inflict: (path) => writeFile(path, 'more', { flag: 'a' }) },
    'has other bytes': { size: 100_000, inflict: (path) => writeFile(path, Buffer.alloc(100_000)) },
    'is large and cut short': { size: 9 * MIB, inflict: (path) => truncate(path, 9 * MIB - 4096) },
  };
  for (const [name, { size, inflict }] of Object.entries(damages)) {
    it(`fetches a file again that ${name}`, async (t) => {
      const blob = blobOf(randomBytes(size));
      const { cache, folder } = await openCache(t);
      await buffer(await cache.open(blob, hostOf(blob).fetch));
      await cache.close();
      await inflict(join(folder, blob.sha));
      const { cache: after, warnings } = await openCache(t, { folder, mayWarn: true });
      const refusal = new Error('The host is busy.');
      await assert.rejects(
        after.open(blob, async () => Promise.reject(refusal)),
        refusal,
      );
      assert.deepEqual(await readdir(folder), []);
      const host = hostOf(blob);
      const readers = await Promise.all([after.open(blob, host.fetch), after.open(blob, host.fetch)]);
      for (const bytes of await Promise.all(readers.map((reader) => buffer(reader))))
        assert.ok(bytes.equals(blob.bytes));
      assert.equal(host.calls, 1);
      assert.deepEqual(warnings, ['A file of the cache was damaged, and is fetched again.']);
      assertSameBytes(await readFile(join(folder, blob.sha)), blob.bytes);
    });
  }

  it('may be removed at any time', async (t) => {
    const { cache, folder } = await openCache(t);
    const blob = blobOf(randomBytes(1000));
    for (let round = 0; round < 2; round++) {
      await rm(folder, { recursive: true, force: true });
      assertSameBytes(await buffer(await cache.open(blob, hostOf(blob).fetch)), blob.bytes);
    }
  });

  it('has a name that is taken: the blob is read all the same, and that it is not kept is told', async (t) => {
    const { cache, folder, warnings } = await openCache(t, { mayWarn: true });
    const blob = blobOf(randomBytes(1000));
    await mkdir(join(folder, blob.sha, 'occupied'), { recursive: true });
    assertSameBytes(await buffer(await cache.open(blob, hostOf(blob).fetch)), blob.bytes);
    assert.equal(warnings.at(-1), 'A file that was read could not be kept in the cache (CACHE_DIR).');
    await until('no temporary file is left', async () => (await readdir(folder)).join() === blob.sha);
  });

  it('tells a person what to do when it can not be made, and does not ask the host', async (t) => {
    const parent = await temporaryFolder(t);
    await writeFile(join(parent, 'file'), '');
    const { cache } = await openCache(t, { folder: join(parent, 'file', 'blobs'), mayWarn: true });
    await assert.rejects(cache.open(blobOf(randomBytes(10)), neverAsked), {
      ...unavailable(/\(CACHE_DIR\) can't be written to/),
      retryAfter: 30,
    });
  });

  it('tells a person what to do when its disk is full, and works when there is room', async (t) => {
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
    await until('nothing is left', async () => (await readdir(folder)).length === 0);
    const small = blobOf(randomBytes(900 * KIB));
    assert.ok((await buffer(await cache.open(small, hostOf(small).fetch))).equals(small.bytes));
  });
});
