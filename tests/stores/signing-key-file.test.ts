import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { loadSigningKey } from '../../src/stores/local-folders.ts';
import { temporaryFolder } from '../../testing/holdall.ts';

/** Makes every hard link fail, as on FAT and on some network file systems. */
function refuseHardLinks(t: TestContext): void {
  t.mock.method(fs, 'link', async () => {
    throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' });
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

describe('The signing key file', () => {
  it('contains one key for all concurrent callers, readable only by its owner', async (t) => {
    const folder = join(await temporaryFolder(t), 'state');
    const keys = await Promise.all(Array.from({ length: 8 }, () => loadSigningKey(folder)));
    assert.equal(new Set(keys.map((key) => key.toString('hex'))).size, 1);
    assert.equal(keys[0]?.length, 32);
    assert.deepEqual(await fs.readdir(folder), ['signing-key']);
    if (process.platform !== 'win32') assert.equal((await fs.stat(join(folder, 'signing-key'))).mode & 0o777, 0o600);
  });

  it('is created once on a file system without hard links', async (t) => {
    refuseHardLinks(t);
    const folder = await temporaryFolder(t);
    const key = await loadSigningKey(folder);
    assert.deepEqual(await loadSigningKey(folder), key);
    assert.deepEqual(await fs.readdir(folder), ['signing-key']);
  });

  it('contains one key for all concurrent callers on a file system without hard links', async (t) => {
    refuseHardLinks(t);
    const folder = await temporaryFolder(t);
    const keys = await Promise.all(Array.from({ length: 8 }, () => loadSigningKey(folder)));
    assert.equal(new Set(keys.map((key) => key.toString('hex'))).size, 1);
    assert.deepEqual(await fs.readdir(folder), ['signing-key']);
  });

  it('is read again while another process is writing it', async (t) => {
    const folder = await temporaryFolder(t);
    const path = join(folder, 'signing-key');
    await fs.writeFile(path, '');
    const loading = loadSigningKey(folder);
    await fs.writeFile(path, 'ab'.repeat(32));
    assert.equal((await loading).toString('hex'), 'ab'.repeat(32));
  });

  it('is never replaced on a file system without hard links', async (t) => {
    refuseHardLinks(t);
    const folder = await temporaryFolder(t);
    const present = 'ab'.repeat(32);
    const readFile = fs.readFile.bind(fs);
    let reads = 0;
    // Another process creates the file between the first read and the link.
    t.mock.method(fs, 'readFile', async (...args: Parameters<typeof fs.readFile>) => {
      reads += 1;
      if (reads > 1) return readFile(...args);
      await fs.writeFile(join(folder, 'signing-key'), present);
      throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    });
    syncBuiltinESMExports();
    assert.equal((await loadSigningKey(folder)).toString('hex'), present);
  });

  it('is rejected with its path if it contains no valid key', async (t) => {
    const folder = await temporaryFolder(t);
    await fs.writeFile(join(folder, 'signing-key'), 'short');
    await assert.rejects(loadSigningKey(folder), (error: Error) =>
      error.message.startsWith(join(folder, 'signing-key')),
    );
  });
});
