import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { link, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { type KeptId, newKeptId } from '../../src/model/kept-ids.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { file, folder, ofKind, plant, silentLog, textOf, treeOf } from '../contract/bytes.ts';
import { mountTmpfs } from '../faults/mounts.ts';

const run = promisify(execFile);

async function open(t: TestContext, root?: string) {
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const disk = await openDisk({ root: root ?? (await temporaryFolder(t)), log });
  atEnd(t, () => disk.store.close?.());
  return { ...disk, warnings, trash: join(disk.ownFolder, 'trash') };
}

const anHourAndMoreAgo = new Date(Date.now() - 2 * 60 * 60 * 1000);

describe('The trash of a disk', () => {
  it('keeps an item as one file or folder with a readable record', async (t) => {
    const { store, trash } = await open(t);
    await plant(store, { 'f/a': 'x' });
    const { id } = await store.moveToTrash(folder('f'), { id: newKeptId(), user: 'ann' });
    assert.deepEqual((await readdir(trash)).toSorted(), [id, `${id}.json`]);
    assert.equal(await readFile(join(trash, id, 'a'), 'utf8'), 'x');
    const record = JSON.parse(await readFile(join(trash, `${id}.json`), 'utf8'));
    assert.deepEqual([record.path, record.user], ['f/', 'ann']);
    assert.equal((await stat(join(trash, `${id}.json`))).mode & 0o777, 0o600);
    await store.restoreTrashed(id, folder('f'));
    assert.deepEqual(await readdir(trash), []);
  });

  it('never replaces an item when an id is used again', async (t) => {
    const { store } = await open(t);
    await plant(store, { a: '1', b: '2' });
    const id = newKeptId();
    const items = [await store.moveToTrash(file('a'), { id }), await store.moveToTrash(file('b'), { id })];
    assert.equal(new Set(items.map((item) => item.id)).size, 2);
    for (const item of items) await store.restoreTrashed(item.id, item.path);
    assert.deepEqual(await treeOf(store), { a: '1', b: '2' });
  });

  it('moves a folder without touching what it contains, and back', async (t) => {
    const { store, root } = await open(t);
    await plant(store, { 'f/a': '1', 'f/deep/b': '2' });
    // A copy has another inode, and a rename changes the ctime.
    const contents = async () => {
      const paths = ['f/a', 'f/deep', 'f/deep/b'];
      const found = await Promise.all(paths.map((path) => stat(join(root, path), { bigint: true })));
      return found.map(({ ino, ctimeNs }) => [ino, ctimeNs]);
    };
    const before = await contents();
    const { id } = await store.moveToTrash(folder('f'), { id: newKeptId() });
    await store.restoreTrashed(id, folder('f'));
    assert.deepEqual(await contents(), before);
  });

  it('ignores a record without content, and removes it after an hour', async (t) => {
    const { store, trash } = await open(t);
    await plant(store, { a: 'x' });
    const { id } = await store.moveToTrash(file('a'), { id: newKeptId() });
    const orphan = newKeptId();
    await writeFile(join(trash, `${orphan}.json`), await readFile(join(trash, `${id}.json`)));
    const idsInTrash = async () => (await store.listTrash({})).items.map((item) => item.id);
    assert.deepEqual(await idsInTrash(), [id]);
    await assert.rejects(store.findTrashed(orphan), ofKind('not-found'));
    assert.equal((await readdir(trash)).length, 3);
    await utimes(join(trash, `${orphan}.json`), anHourAndMoreAgo, anHourAndMoreAgo);
    assert.deepEqual(await idsInTrash(), [id]);
    assert.deepEqual((await readdir(trash)).toSorted(), [id, `${id}.json`]);
  });

  it('does not list a file whose restore was interrupted, and completes the restore', async (t) => {
    const { store, root, trash } = await open(t);
    await plant(store, { a: 'x' });
    const { id } = await store.moveToTrash(file('a'), { id: newKeptId() });
    await link(join(trash, id), join(root, 'a'));
    assert.deepEqual((await store.listTrash({})).items, []);
    await store.restoreTrashed(id, file('a'));
    assert.deepEqual([await textOf(store, 'a'), await readdir(trash)], ['x', []]);
  });

  it('reads no record of an item that is not selected a second time', async (t) => {
    const { store, trash, warnings } = await open(t);
    await plant(store, { a: '1', b: '2' });
    for (const name of ['a', 'b']) await store.moveToTrash(file(name), { id: newKeptId() });
    const list = async () => {
      const { items, cursor } = await store.listTrash({ isSelected: (path) => path === 'a' });
      return [items.map(({ path }) => path), cursor];
    };
    assert.deepEqual(await list(), [['a'], undefined]);
    for (const name of await readdir(trash)) if (name.endsWith('.json')) await writeFile(join(trash, name), '{}');
    assert.deepEqual(await list(), [[], undefined]);
    assert.equal(warnings.length, 1);
  });

  it('does not list items with invalid records, logs them, and keeps their content', async (t) => {
    const { store, trash, warnings } = await open(t);
    const records = ['', '{', '[]', 'null', '{"path":"../x","deletedAt":"2026-11-25T00:00:00Z"}', '{"path":"a"}'];
    await mkdir(trash, { recursive: true });
    const ids: KeptId[] = [];
    for (const record of [...records, '{"path":"a/","deletedAt":"2026-11-25T00:00:00Z"}', '{"path":"/a"}']) {
      const id = newKeptId();
      ids.push(id);
      await writeFile(join(trash, id), 'x');
      await writeFile(join(trash, `${id}.json`), record);
    }
    assert.deepEqual((await store.listTrash({})).items, []);
    assert.deepEqual((await store.listTrash({})).items, []);
    assert.equal(warnings.length, ids.length, 'each is logged once');
    for (const id of ids) await assert.rejects(store.restoreTrashed(id, file('b')), ofKind('not-found'));
    assert.equal((await readdir(trash)).length, ids.length * 2);
  });

  it('lists the other items if another program leaves anything else as a record', async (t) => {
    const { store, trash, warnings } = await open(t);
    await plant(store, { a: 'x' });
    const { id } = await store.moveToTrash(file('a'), { id: newKeptId() });
    const record = await readFile(join(trash, `${id}.json`), 'utf8');
    const outside = join(await temporaryFolder(t), 'record');
    await writeFile(outside, record);
    const foreign: ((path: string) => Promise<unknown>)[] = [
      (path) => run('mkfifo', [path]),
      (path) => symlink(outside, path),
      (path) => mkdir(path),
      (path) => writeFile(path, record + ' '.repeat(20_000)),
    ];
    for (const create of foreign) {
      const other = newKeptId();
      await writeFile(join(trash, other), 'x');
      await create(join(trash, `${other}.json`));
      await assert.rejects(store.findTrashed(other), ofKind('not-found'));
    }
    // Only a file can be a record that lost its content.
    const folderLikeRecord = join(trash, `${newKeptId()}.json`);
    await mkdir(folderLikeRecord);
    await utimes(folderLikeRecord, anHourAndMoreAgo, anHourAndMoreAgo);
    assert.deepEqual(
      (await store.listTrash({})).items.map((item) => item.id),
      [id],
    );
    assert.equal(warnings.length, foreign.length);
  });

  it('measures and removes a folder without following symbolic links', async (t) => {
    const { store, root } = await open(t);
    const outside = await temporaryFolder(t);
    await writeFile(join(outside, 'secret'), 'outside');
    await plant(store, { 'f/a': 'four' });
    await symlink(outside, join(root, 'f/link'));
    const { id } = await store.moveToTrash(folder('f'), { id: newKeptId() });
    assert.equal(await store.measureTrashed(id), 4);
    await store.purgeTrashed?.(id);
    assert.equal(await readFile(join(outside, 'secret'), 'utf8'), 'outside');
  });

  it('moves no symbolic link to the trash', async (t) => {
    const { store, root } = await open(t);
    await plant(store, { 'f/a': 'x' });
    await symlink('f', join(root, 'link'));
    await symlink('f/a', join(root, 'file'));
    for (const path of [folder('link'), file('file'), file('link/a')]) {
      await assert.rejects(store.moveToTrash(path, { id: newKeptId() }), ofKind('not-found'), path);
    }
    assert.deepEqual((await readdir(root)).toSorted(), ['.holdall', 'f', 'file', 'link']);
  });

  it('leaves a file where it is if it is on another file system, and names the permanent delete', async (t) => {
    const { store, root } = await open(t);
    const reason = await mountTmpfs(t, join(root, 'mounted'), 'size=1m');
    if (reason) return t.skip(reason);
    await writeFile(join(root, 'mounted/a'), 'x');
    const moving = store.moveToTrash(file('mounted/a'), { id: newKeptId() });
    await assert.rejects(moving, { ...ofKind('other-file-system'), message: /Delete it permanently/ });
    assert.equal(await textOf(store, 'mounted/a'), 'x');
    assert.deepEqual((await store.listTrash({})).items, []);
    await store.remove(file('mounted/a'));
  });

  it('works on a full disk if a record still fits, and otherwise leaves the file', async (t) => {
    const root = join(await temporaryFolder(t), 'root');
    const reason = await mountTmpfs(t, root, 'size=256k');
    if (reason) return t.skip(reason);
    const { store } = await open(t, root);
    await plant(store, { 'f/a': 'x' });
    const filler = Buffer.alloc(4096, 'x');
    for (let number = 0; ; number++) {
      try {
        await writeFile(join(root, `filler ${number}`), filler);
      } catch {
        break;
      }
    }
    await assert.rejects(store.moveToTrash(folder('f'), { id: newKeptId() }), ofKind('unavailable'));
    assert.equal(await textOf(store, 'f/a'), 'x');
    await rm(join(root, 'filler 0'));
    await store.moveToTrash(folder('f'), { id: newKeptId() });
    const [item] = (await store.listTrash({})).items;
    assert.equal(item?.path, 'f/');
  });
});
