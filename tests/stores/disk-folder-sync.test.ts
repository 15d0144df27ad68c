import assert from 'node:assert/strict';
import { fstatSync } from 'node:fs';
import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { createFolderSync } from '../../src/stores/disk/folder.ts';
import { file, silentLog, upload } from '../contract/bytes.ts';

/** Opens real folders, with syncs that the test completes. */
async function openFolders(t: TestContext) {
  const started: { folder: number; end: PromiseWithResolvers<void> }[] = [];
  const sync = createFolderSync({
    statOpen: (folder) => fstatSync(folder, { bigint: true }),
    syncFolder(folder) {
      const end = Promise.withResolvers<void>();
      started.push({ folder, end });
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
  const waitForSyncs = async (count: number) => {
    while (started.length < count) await setImmediate();
    assert.equal(started.length, count);
  };
  return { sync, started, openFolder, makeFolder, waitForSyncs };
}

describe('createFolderSync', () => {
  it('syncs a folder once for all callers that arrive during a sync, after that sync', async (t) => {
    const { sync, started, openFolder, makeFolder, waitForSyncs } = await openFolders(t);
    const path = await makeFolder();
    const first = sync(await openFolder(path));
    await waitForSyncs(1);
    const settled: string[] = [];
    const others: Promise<unknown>[] = [];
    for (const name of ['second', 'third', 'fourth'])
      others.push(sync(await openFolder(path)).then(() => settled.push(name)));
    await setImmediate();
    started[0]?.end.resolve();
    await first;
    await waitForSyncs(2);
    assert.deepEqual(settled, [], 'The earlier sync does not cover later callers.');
    started[1]?.end.resolve();
    await Promise.all(others);
    assert.deepEqual(settled, ['second', 'third', 'fourth']);
    assert.equal(started.length, 2);
  });

  it('rejects only the callers of the failed sync', async (t) => {
    const { sync, started, openFolder, makeFolder, waitForSyncs } = await openFolders(t);
    const path = await makeFolder();
    const fd = await openFolder(path);
    const first = sync(fd);
    await waitForSyncs(1);
    const second = sync(fd);
    await setImmediate();
    started[0]?.end.reject(new Error('EIO'));
    await assert.rejects(first, { code: 'outcome-unknown', kind: 'unavailable' }, 'the change was made');
    await waitForSyncs(2);
    started[1]?.end.resolve();
    await second;
    const third = sync(fd);
    await waitForSyncs(3);
    started[2]?.end.resolve();
    await third;
  });

  it('syncs different folders concurrently', async (t) => {
    const { sync, started, openFolder, makeFolder, waitForSyncs } = await openFolders(t);
    const both = [sync(await openFolder(await makeFolder())), sync(await openFolder(await makeFolder()))];
    await waitForSyncs(2);
    for (const { end } of started) end.resolve();
    await Promise.all(both);
  });
});

it('64 concurrent uploads to one disk folder are all stored, and leave no temporary files', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
  t.after(() => rm(root, { recursive: true }));
  const { store, ownFolder } = await openDisk({ root, log: silentLog });
  const names = Array.from({ length: 64 }, (_, index) => `a/${index}`);
  const entries = await Promise.all(names.map((name) => store.write(file(name), upload(name))));
  assert.deepEqual(await Promise.all(names.map((name) => store.stat(file(name)))), entries);
  const [own = ''] = await readdir(join(ownFolder, 'temporary'));
  assert.deepEqual(await readdir(join(ownFolder, 'temporary', own)), []);
  await store.close?.();
});
