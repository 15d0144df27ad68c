import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it, mock } from 'node:test';
import { parseFile } from '../../src/model/path.ts';
import { type Disk, openDisk } from '../../src/stores/disk/disk.ts';
import { until } from '../../testing/until.ts';
import { ofKind, silentLog } from '../contract/bytes.ts';

/** The store caches the content of files that are read repeatedly, unless they changed within the last minute. */
describe('A disk file with cached content', () => {
  const NAMES = ['in place', 'replaced', 'removed', 'linked', 'folder/in it', 'moved/deep/in it', 'served', 'ranged'];

  /** Changes that must invalidate the cached content. */
  const CHANGES: Readonly<Record<string, (path: string) => Promise<void>>> = {
    'it is overwritten': (path) => writeFile(path, 'behind'),
    'another file replaces it': async (path) => {
      await writeFile(`${path} new`, 'behind');
      await rename(`${path} new`, path);
    },
    'it is removed': (path) => rm(path),
    'a symlink replaces it': async (path) => {
      await rename(path, `${path} before`);
      await symlink(`${path} before`, path);
    },
  };
  let root: string;
  let disk: Disk;

  const read = async (name: string) => (await buffer((await disk.store.read(parseFile(name))).body)).toString();
  const readCached = async (name: string) => (await disk.store.readCached?.(parseFile(name)))?.bytes?.toString();
  const etagOf = async (name: string) => (await disk.store.stat(parseFile(name))).etag;

  before(async () => {
    // The default temporary folder may be on tmpfs, where the store caches no content.
    root = await mkdtemp(join('/var/tmp', 'holdall-test-'));
    disk = await openDisk({ root, log: silentLog });
    await mkdir(join(root, 'folder'));
    await mkdir(join(root, 'moved/deep'), { recursive: true });
    const names = [...NAMES, ...Object.keys(CHANGES)];
    for (const name of names) await writeFile(join(root, name), 'before');
    // The store caches nothing of files that changed within the last second.
    await until(
      'the files are older than a second',
      async () => Date.now() - (await stat(join(root, 'ranged'))).ctimeMs > 1100,
    );
    for (const name of names) {
      assert.equal(await readCached(name), undefined);
      assert.equal(await read(name), 'before');
      // Not cached yet: a program with a memory mapping could write to it without a new mtime.
      assert.equal(await readCached(name), undefined);
    }
    mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 });
    for (const name of names) assert.equal(await read(name), 'before');
    mock.timers.reset();
  });
  after(async () => {
    await disk.store.close?.();
    await rm(root, { recursive: true, force: true });
  });

  for (const [event, change] of Object.entries(CHANGES)) {
    it(`is returned from the cache until ${event}`, async () => {
      assert.equal(await readCached(event), 'before');
      assert.deepEqual(
        (await disk.store.readCached?.(parseFile(event)))?.file,
        await disk.store.stat(parseFile(event)),
      );
      await change(join(root, event));
      assert.equal(await readCached(event), undefined);
    });
  }

  it('has new content and a new ETag after it is overwritten in place', async () => {
    const etag = await etagOf('in place');
    await writeFile(join(root, 'in place'), 'behind');
    assert.equal(await read('in place'), 'behind');
    assert.notEqual(await etagOf('in place'), etag);
  });

  it('has new content after an overwrite that resets its mtime', async () => {
    const { atime, mtime } = await stat(join(root, 'served'));
    await writeFile(join(root, 'served'), 'behind');
    await utimes(join(root, 'served'), atime, mtime);
    assert.equal(await read('served'), 'behind');
  });

  it('has the content of the file that replaced it', async () => {
    await writeFile(join(root, 'other'), 'behind');
    await rename(join(root, 'other'), join(root, 'replaced'));
    assert.equal(await read('replaced'), 'behind');
  });

  it('is not found after it is removed', async () => {
    await rm(join(root, 'removed'));
    await assert.rejects(disk.store.read(parseFile('removed')), ofKind('not-found'));
    await assert.rejects(disk.store.stat(parseFile('removed')), ofKind('not-found'));
  });

  it('is not found after a symlink replaces it', async () => {
    await writeFile(join(root, 'target'), 'secret');
    await rm(join(root, 'linked'));
    await symlink(join(root, 'target'), join(root, 'linked'));
    await assert.rejects(disk.store.read(parseFile('linked')), ofKind('not-found'));
    await assert.rejects(disk.store.stat(parseFile('linked')), ofKind('not-found'));
  });

  it('is not found after a symlink replaces its folder', async () => {
    await mkdir(join(root, 'elsewhere'));
    await writeFile(join(root, 'elsewhere/in it'), 'secret');
    await rename(join(root, 'folder'), join(root, 'folder before'));
    await symlink(join(root, 'elsewhere'), join(root, 'folder'));
    await assert.rejects(disk.store.read(parseFile('folder/in it')), ofKind('not-found'));
  });

  it('is not found after a symlink to the moved ancestor folder replaces it', async () => {
    await rename(join(root, 'moved'), join(root, 'moved before'));
    await symlink(join(root, 'moved before'), join(root, 'moved'));
    assert.equal(await readCached('moved/deep/in it'), undefined);
    await assert.rejects(disk.store.read(parseFile('moved/deep/in it')), ofKind('not-found'));
    await assert.rejects(disk.store.stat(parseFile('moved/deep/in it')), ofKind('not-found'));
  });

  it('honours ranges and If-Match', async () => {
    const file = parseFile('ranged');
    const { body, range } = await disk.store.read(file, { range: { start: 1, end: 2 } });
    assert.deepEqual(range, { start: 1, end: 2 });
    assert.equal((await buffer(body)).toString(), 'ef');
    await assert.rejects(disk.store.read(file, { range: { start: 6 } }), ofKind('range-unsatisfiable'));
    await assert.rejects(disk.store.read(file, { ifMatch: 'another' }), ofKind('condition-failed'));
  });
});
