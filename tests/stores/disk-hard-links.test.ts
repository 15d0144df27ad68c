import assert from 'node:assert/strict';
import { link, lstat, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { MoveRecords } from '../../src/stores/disk/move-records.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { file, folder, ofKind, plant, silentLog, textOf, upload } from '../contract/bytes.ts';
import { mountFileSystemOfWindows } from '../faults/mounts.ts';
import { untilNoTemporaryFiles } from '../process/temporary-files.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['windows-file-systems'];

async function open(t: TestContext, folderOfDisk?: string) {
  const { store, root, ownFolder } = await openDisk({
    root: folderOfDisk ?? (await temporaryFolder(t)),
    log: silentLog,
  });
  atEnd(t, () => store.close?.());
  const files = createFiles(store, { presignExpires: 60 });
  const served = async () => (await readdir(root)).filter((name) => name !== '.holdall').toSorted();
  const move = (from: string, to: string, replace: boolean) => files.moveFile(file(from), file(to), { replace });
  /** Records a move as a process does that ends before the move has. */
  const interrupt = async (from: string, to: string) => {
    const { dev, ino } = await lstat(join(root, from), { bigint: true });
    await new MoveRecords(join(ownFolder, 'moves')).add([`${dev}:${ino}`, from, to]);
  };
  return { store, files, root, ownFolder, served, move, interrupt };
}

/** Creates the file `one` and its hard link `other`. */
async function plantLinked(root: string): Promise<void> {
  await writeFile(join(root, 'one'), 'the bytes');
  await link(join(root, 'one'), join(root, 'other'));
}

describe('A move onto another hard link of the same file', { concurrency: true }, () => {
  it('fails without overwrite, and keeps both names', async (t) => {
    const { root, served, move } = await open(t);
    await plantLinked(root);
    await assert.rejects(move('one', 'other', false), ofKind('already-exists'));
    assert.deepEqual(await served(), ['one', 'other']);
  });

  it('removes only the source with overwrite, also in another folder', async (t) => {
    const { store, root, served, move } = await open(t);
    await plantLinked(root);
    await store.createFolder(folder('f'));
    await link(join(root, 'one'), join(root, 'f/one'));
    await move('one', 'other', true);
    await move('other', 'f/one', true);
    assert.deepEqual(await served(), ['f']);
    assert.equal(await textOf(store, 'f/one'), 'the bytes');
    assert.equal((await stat(join(root, 'f/one'))).nlink, 1);
  });

  for (const replace of [false, true]) {
    it(`completes a move that was interrupted between its two steps, ${replace ? 'with' : 'without'} overwrite`, async (t) => {
      const { root, ownFolder, served, move, interrupt } = await open(t);
      await plantLinked(root);
      await interrupt('one', 'other');
      await move('one', 'other', replace);
      assert.deepEqual(await served(), ['other']);
      assert.equal(await readFile(join(root, 'other'), 'utf8'), 'the bytes');
      assert.ok(!(await readdir(ownFolder)).includes('moves'));
    });
  }

  it('fails when an item in the trash is restored onto a hard link of it', async (t) => {
    const { store, root } = await open(t);
    await plantLinked(root);
    const { id } = await store.moveToTrash(file('one'), { id: newKeptId() });
    await assert.rejects(store.restoreTrashed(id, file('other')), ofKind('already-exists'));
    assert.equal((await store.findTrashed(id)).path, 'one');
  });
});

describe('A name in another case', { concurrency: true }, () => {
  it('replaces the earlier spelling of files and folders', async (t) => {
    const { store, files, root, served, move } = await openWindows(t, 'exfat');
    await plant(store, { 'folder/a': 'x', übersicht: 'bytes', plain: 'y' });
    for (const replace of [false, true]) {
      await move('übersicht', 'Übersicht', replace);
      await move('plain', 'PLAIN', replace);
      await files.moveFolder(folder('folder'), folder('FOLDER'), { replace });
      assert.deepEqual(await served(), ['FOLDER', 'PLAIN', 'Übersicht']);
      await move('Übersicht', 'übersicht', replace);
      await move('PLAIN', 'plain', replace);
      await files.moveFolder(folder('FOLDER'), folder('folder'), { replace });
      assert.deepEqual(await served(), ['folder', 'plain', 'übersicht']);
    }
    assert.deepEqual([await textOf(store, 'übersicht'), await textOf(store, 'folder/a')], ['bytes', 'x']);
    assert.deepEqual(await readdir(join(root, '.holdall/recovered')).catch(() => []), []);
  });

  for (const replace of [false, true]) {
    it(`keeps all hard links of a file ${replace ? 'with' : 'without'} overwrite`, async (t) => {
      // This file system lists all names in lower case.
      const { store, files, root, served, move } = await openWindows(t, 'ntfs');
      await plant(store, { übersicht: 'bytes', plain: 'ascii', 'folder/a': 'x' });
      await link(join(root, 'übersicht'), join(root, 'other'));
      await link(join(root, 'plain'), join(root, 'second'));
      await move('übersicht', 'Übersicht', replace);
      await move('plain', 'Plain', replace);
      await files.moveFolder(folder('folder'), folder('Folder'), { replace });
      assert.deepEqual(await served(), ['folder', 'other', 'plain', 'second', 'übersicht']);
      const texts = ['Übersicht', 'other', 'Plain', 'second', 'folder/a'].map(async (path) => textOf(store, path));
      assert.deepEqual(await Promise.all(texts), ['bytes', 'bytes', 'ascii', 'ascii', 'x']);
      await assert.rejects(move('Plain', 'SECOND', false), ofKind('already-exists'));
      await move('Plain', 'SECOND', true);
      assert.deepEqual(await served(), ['folder', 'other', 'second', 'übersicht']);
      assert.equal(await textOf(store, 'second'), 'ascii');
    });
  }
});

describe('The version of a file with several hard links', () => {
  it('is unaffected by a program that writes in place through another link', async (t) => {
    const { store, root } = await open(t);
    await plantLinked(root);
    await store.write(file('one'), upload('new'), { keep: {} });
    await writeFile(join(root, 'other'), 'changed in place');
    const { versions } = await store.listVersions(file('one'));
    const texts = versions.map(async ({ id }) => (await store.readVersion(file('one'), id)).bytes?.toString());
    assert.deepEqual(await Promise.all(texts), ['the bytes']);
    assert.equal(await textOf(store, 'one'), 'new');
  });

  it('is kept once, with its modification time', async (t) => {
    const { store, root } = await open(t);
    await plantLinked(root);
    const { mtimeMs } = await stat(join(root, 'one'));
    await store.write(file('one'), upload('new'), { keep: { user: 'anna' } });
    const { versions } = await store.listVersions(file('one'));
    assert.deepEqual(
      versions.map(({ size, modified, replacedBy }) => [size, Number(modified), replacedBy]),
      [[9, Math.trunc(mtimeMs), 'anna']],
    );
    assert.equal((await stat(join(root, 'other'))).nlink, 1);
    await untilNoTemporaryFiles(root);
  });
});

async function openWindows(t: TestContext, kind: 'ntfs' | 'exfat') {
  const base = await temporaryFolder(t);
  const reason = await mountFileSystemOfWindows(t, kind, { image: join(base, 'image'), folder: join(base, 'root') });
  assert.equal(reason, undefined);
  return open(t, join(base, 'root'));
}
