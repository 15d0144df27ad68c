import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { lstat, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../testing/holdall.ts';
import { blobOf, hostOf, KIB, MIB, neverAsked, openCache } from './github-blobs.ts';

const run = promisify(execFile);

const DAMAGED = 'A file of the cache was damaged, and is fetched again.';
const NOT_OPENED = 'A file could not be opened in the cache.';

/** A cache that keeps a blob, which it has given out twice: once from the host, and once from its file. */
async function keeping(t: TestContext, size = 100 * KIB) {
  const opened = await openCache(t, { mayWarn: true });
  const blob = blobOf(randomBytes(size));
  for (const fetch of [hostOf(blob).fetch, neverAsked]) {
    assert.ok((await buffer(await opened.cache.open(blob, fetch))).equals(blob.bytes));
  }
  return { ...opened, blob, path: join(opened.folder, blob.sha) };
}

/** Asks for what was tampered with: the right bytes come from the host, and are kept from then on. */
async function requireMended({ cache, blob, path, warnings }: Awaited<ReturnType<typeof keeping>>, warning: string) {
  const host = hostOf(blob);
  assert.ok((await buffer(await cache.open(blob, host.fetch))).equals(blob.bytes));
  assert.equal(host.calls, 1);
  assert.deepEqual(warnings, [warning]);
  assert.ok((await lstat(path)).isFile());
  assert.ok((await readFile(path)).equals(blob.bytes));
  assert.ok((await buffer(await cache.open(blob, neverAsked))).equals(blob.bytes));
}

describe('A kept file that was read before in this process', () => {
  it('is fetched again where another of the same size has its place', async (t) => {
    const opened = await keeping(t);
    const other = join(await temporaryFolder(t), 'other');
    await writeFile(other, randomBytes(opened.blob.size));
    await rm(opened.path);
    await writeFile(opened.path, await readFile(other));
    await requireMended(opened, DAMAGED);
    await rename(other, opened.path);
    opened.warnings.length = 0;
    await requireMended(opened, DAMAGED);
  });

  it('is fetched again where other bytes were written into it', async (t) => {
    const opened = await keeping(t);
    await writeFile(opened.path, randomBytes(opened.blob.size));
    await requireMended(opened, DAMAGED);
  });

  for (const size of [100 * KIB, 9 * MIB]) {
    it(`is fetched again where a link has its place, which is not followed: ${size} bytes`, async (t) => {
      const opened = await keeping(t, size);
      const outside = join(await temporaryFolder(t), 'outside');
      const secret = randomBytes(size);
      await writeFile(outside, secret, { mode: 0o640 });
      const before = await lstat(outside);
      await rm(opened.path);
      await symlink(outside, opened.path);
      await requireMended(opened, NOT_OPENED);
      assert.ok((await readFile(outside)).equals(secret));
      const { ino, mode, mtimeMs } = await lstat(outside);
      assert.deepEqual({ ino, mode, mtimeMs }, { ino: before.ino, mode: before.mode, mtimeMs: before.mtimeMs });
    });
  }

  it('is fetched again where a link that leads to the same bytes has its place', async (t) => {
    const opened = await keeping(t);
    const outside = join(await temporaryFolder(t), 'outside');
    await rename(opened.path, outside);
    await symlink(outside, opened.path);
    await requireMended(opened, NOT_OPENED);
  });

  it('is fetched again where a pipe has its place that nobody writes to', { timeout: 10_000 }, async (t) => {
    const opened = await keeping(t);
    await rm(opened.path);
    await run('mkfifo', [opened.path]);
    await requireMended(opened, DAMAGED);
  });
});
