import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { lstat, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../testing/holdall.ts';
import { blobOf, failOnFetch, hostOf, KIB, MIB, openCache } from './github-blobs.ts';

const run = promisify(execFile);

const DAMAGED = 'A cached file is damaged and will be downloaded again.';
const NOT_OPENED = 'A cached file could not be opened.';

/** Opens a cache with a blob that was read twice: once from the host, once from its file. */
async function openWithBlob(t: TestContext, size = 100 * KIB) {
  const opened = await openCache(t, { mayWarn: true });
  const blob = blobOf(randomBytes(size));
  for (const fetch of [hostOf(blob).fetch, failOnFetch]) {
    assert.ok((await buffer(await opened.cache.open(blob, fetch))).equals(blob.bytes));
  }
  return { ...opened, blob, path: join(opened.folder, blob.sha) };
}

/** Checks that a tampered file is downloaded again and cached from then on. */
async function requireRepaired(
  { cache, blob, path, warnings }: Awaited<ReturnType<typeof openWithBlob>>,
  warning: string,
) {
  const host = hostOf(blob);
  assert.ok((await buffer(await cache.open(blob, host.fetch))).equals(blob.bytes));
  assert.equal(host.calls, 1);
  assert.deepEqual(warnings, [warning]);
  assert.ok((await lstat(path)).isFile());
  assert.ok((await readFile(path)).equals(blob.bytes));
  assert.ok((await buffer(await cache.open(blob, failOnFetch))).equals(blob.bytes));
}

describe('A cached file that this process has already verified', () => {
  it('is downloaded again when a file of the same size replaces it', async (t) => {
    const opened = await openWithBlob(t);
    const other = join(await temporaryFolder(t), 'other');
    await writeFile(other, randomBytes(opened.blob.size));
    await rm(opened.path);
    await writeFile(opened.path, await readFile(other));
    await requireRepaired(opened, DAMAGED);
    await rename(other, opened.path);
    opened.warnings.length = 0;
    await requireRepaired(opened, DAMAGED);
  });

  it('is downloaded again when its bytes are overwritten', async (t) => {
    const opened = await openWithBlob(t);
    await writeFile(opened.path, randomBytes(opened.blob.size));
    await requireRepaired(opened, DAMAGED);
  });

  for (const size of [100 * KIB, 9 * MIB]) {
    it(`is downloaded again when a symbolic link replaces it, which is not followed: ${size} bytes`, async (t) => {
      const opened = await openWithBlob(t, size);
      const outside = join(await temporaryFolder(t), 'outside');
      const secret = randomBytes(size);
      await writeFile(outside, secret, { mode: 0o640 });
      const before = await lstat(outside);
      await rm(opened.path);
      await symlink(outside, opened.path);
      await requireRepaired(opened, NOT_OPENED);
      assert.ok((await readFile(outside)).equals(secret));
      const { ino, mode, mtimeMs } = await lstat(outside);
      assert.deepEqual({ ino, mode, mtimeMs }, { ino: before.ino, mode: before.mode, mtimeMs: before.mtimeMs });
    });
  }

  it('is downloaded again when a symbolic link to the same bytes replaces it', async (t) => {
    const opened = await openWithBlob(t);
    const outside = join(await temporaryFolder(t), 'outside');
    await rename(opened.path, outside);
    await symlink(outside, opened.path);
    await requireRepaired(opened, NOT_OPENED);
  });

  it('is downloaded again when a FIFO without a writer replaces it', async (t) => {
    const opened = await openWithBlob(t);
    await rm(opened.path);
    await run('mkfifo', [opened.path]);
    await requireRepaired(opened, DAMAGED);
  });
});
