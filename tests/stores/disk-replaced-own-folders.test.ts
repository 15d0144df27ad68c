import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { isStoreError } from '../../src/model/error.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { file, folder, plant, silentLog, treeOf, upload } from '../contract/bytes.ts';

/** Opens a disk on which another program replaced Holdall's folder `name` with a file. */
async function openReplaced(t: TestContext, name: string) {
  const { store, ownFolder } = await openDisk({ root: await temporaryFolder(t), log: silentLog });
  atEnd(t, () => store.close?.());
  await plant(store, { 'f/a': 'x' });
  await rm(join(ownFolder, name), { recursive: true, force: true });
  await writeFile(join(ownFolder, name), 'of another program');
  return {
    store,
    files: createFiles(store, { presignExpires: 60, retention: { trash: true, versions: true } }),
    ownFolder,
  };
}

const namesFolder = (name: string) => (error: unknown) =>
  isStoreError(error) && error.code === 'disk-error' && error.message.includes(`.holdall/${name}"`)
    ? true
    : assert.fail(String(error));

describe("A file that replaced one of Holdall's folders on a disk", () => {
  it('makes deletes fail with an error that names it, except permanent ones', async (t) => {
    const { store, files, ownFolder } = await openReplaced(t, 'trash');
    const fails = namesFolder('trash');
    await assert.rejects(files.deleteFile(file('f/a')), fails);
    await assert.rejects(files.deleteFolder(folder('f')), fails);
    await assert.rejects(files.listTrash(), fails);
    await assert.rejects(files.emptyTrash(), fails);
    await assert.rejects(files.findTrashed(newKeptId()), fails);
    assert.deepEqual(await treeOf(store), { 'f/': null, 'f/a': 'x' });
    await files.deleteFile(file('f/a'), { permanent: true });
    await files.deleteFolder(folder('f'), { permanent: true });
    assert.deepEqual(await treeOf(store), {});
    assert.equal(await readFile(join(ownFolder, 'trash'), 'utf8'), 'of another program');
  });

  it('makes replacements fail with an error that names it, except new files and permanent deletes', async (t) => {
    const { store, files } = await openReplaced(t, 'versions');
    const fails = namesFolder('versions');
    await plant(store, { b: 'y' });
    const body = () => upload('new').body;
    await assert.rejects(files.upload({ target: { path: file('f/a') }, body: body() }), fails);
    await assert.rejects(files.copyFile(file('b'), file('f/a'), { replace: true }), fails);
    await assert.rejects(files.moveFile(file('b'), file('f/a'), { replace: true }), fails);
    assert.deepEqual(await treeOf(store), { b: 'y', 'f/': null, 'f/a': 'x' });
    await files.upload({ target: { path: file('c') }, body: body() });
    await files.deleteFile(file('f/a'), { permanent: true });
    assert.deepEqual(await treeOf(store), { b: 'y', c: 'new', 'f/': null });
  });

  it('makes uploads fail with an error that names it', async (t) => {
    const { store, files, ownFolder } = await openReplaced(t, 'temporary');
    await assert.rejects(
      files.upload({ target: { path: file('c') }, body: upload('new').body }),
      namesFolder('temporary'),
    );
    assert.deepEqual(await treeOf(store), { 'f/': null, 'f/a': 'x' });
    // The end of the store removes what is in the folder.
    await rm(join(ownFolder, 'temporary'));
  });
});
