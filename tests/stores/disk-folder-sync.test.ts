import assert from 'node:assert/strict';
import { fstatSync } from 'node:fs';
import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { createFolderSync } from '../../src/stores/disk/folder-sync.ts';
import { file, upload } from '../contract/bytes.ts';

/** Real folders that are open, and syncs of them that end when the test says so. */
async function folders(t: TestContext) {
  const begun: { folder: number; end: PromiseWithResolvers<void> }[] = [];
  const sync = createFolderSync({
    statOpen: (folder) => fstatSync(folder, { bigint: true }),
    syncFolder(folder) {
      const end = Promise.withResolvers<void>();
      begun.push({ folder, end });
      return end.promise;
    },
  });
  const openFolder = async (path: string) => {
    const handle = await open(path);
    t.after(() => handle.close());
    return handle.fd;
  };
  const makeFolder = async () => {
    const path = await mkdtemp(join(tmpdir(), 'holdall-test-'));
    t.after(() => rm(path, { recursive: true }));
    return path;
  };
  const hasBegun = async (count: number) => {
    while (begun.length < count) await setImmediate();
    assert.equal(begun.length, count);
  };
  return { sync, begun, openFolder, makeFolder, hasBegun };
}

describe('Syncing folders', () => {
  it('is done once for all who come while one is under way, and after that one', async (t) => {
    const { sync, begun, openFolder, makeFolder, hasBegun } = await folders(t);
    const path = await makeFolder();
    const first = sync(await openFolder(path));
    await hasBegun(1);
    const settled: string[] = [];
    const others: Promise<unknown>[] = [];
    for (const name of ['second', 'third', 'fourth'])
      others.push(sync(await openFolder(path)).then(() => settled.push(name)));
    await setImmediate();
    begun[0]?.end.resolve();
    await first;
    await hasBegun(2);
    assert.deepEqual(settled, [], 'What was under way when they came does not cover them.');
    begun[1]?.end.resolve();
    await Promise.all(others);
    assert.deepEqual(settled, ['second', 'third', 'fourth']);
    assert.equal(begun.length, 2);
  });

  it('fails for all that it was to be for, and not for those that come later', async (t) => {
    const { sync, begun, openFolder, makeFolder, hasBegun } = await folders(t);
    const path = await makeFolder();
    const number = await openFolder(path);
    const first = sync(number);
    await hasBegun(1);
    const second = sync(number);
    await setImmediate();
    begun[0]?.end.reject(new Error('EIO'));
    await assert.rejects(first, /EIO/);
    await hasBegun(2);
    begun[1]?.end.resolve();
    await second;
    const third = sync(number);
    await hasBegun(3);
    begun[2]?.end.resolve();
    await third;
  });

  it('of different folders goes on side by side', async (t) => {
    const { sync, begun, openFolder, makeFolder, hasBegun } = await folders(t);
    const both = [sync(await openFolder(await makeFolder())), sync(await openFolder(await makeFolder()))];
    await hasBegun(2);
    for (const { end } of begun) end.resolve();
    await Promise.all(both);
  });
});

it('Many uploads to one folder of a disk at once are all there, and leave nothing behind', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
  t.after(() => rm(root, { recursive: true }));
  const { store, ownFolder } = await openDisk({ root, warn: () => {} });
  const names = Array.from({ length: 64 }, (_, index) => `a/${index}`);
  const entries = await Promise.all(names.map((name) => store.write(file(name), upload(name))));
  assert.deepEqual(await Promise.all(names.map((name) => store.stat(file(name)))), entries);
  const [own = ''] = await readdir(join(ownFolder, 'temporary'));
  assert.deepEqual(await readdir(join(ownFolder, 'temporary', own)), []);
  await store.close?.();
});
