import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { isStoreError } from '../../src/model/error.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { file, folder, plant, silentLog, treeOf, upload } from '../contract/bytes.ts';

/** Puts something at the path of one of Holdall's folders. */
type Replace = (path: string) => Promise<void>;

const withFile: Replace = (path) => writeFile(path, 'of another program');
const withLink =
  (target: string): Replace =>
  (path) =>
    symlink(target, path);

/** Opens a disk on which another program replaced Holdall's folder `name`. */
async function openReplaced(t: TestContext, name: string, replace = withFile) {
  const { store, ownFolder } = await openDisk({ root: await temporaryFolder(t), log: silentLog });
  atEnd(t, () => store.close?.());
  await plant(store, { 'f/a': 'x' });
  await rm(join(ownFolder, name), { recursive: true, force: true });
  await replace(join(ownFolder, name));
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
    await assert.rejects(files.moveFile(file('f/a'), file('b'), { replace: false }), namesFolder('temporary'));
    assert.deepEqual(await treeOf(store), { 'f/': null, 'f/a': 'x' });
    // A file without versions needs no temporary folder.
    await assert.rejects(files.deleteFolder(folder('f'), { permanent: true }), namesFolder('temporary'));
    await files.deleteFile(file('f/a'), { permanent: true });
    assert.deepEqual(await treeOf(store), { 'f/': null });
    await store.close?.();
    assert.equal(await readFile(join(ownFolder, 'temporary'), 'utf8'), 'of another program');
  });

  it('makes the start fail with an error that names it', async (t) => {
    for (const name of ['.holdall', '.holdall/temporary']) {
      const root = await temporaryFolder(t);
      if (name !== '.holdall') await mkdir(join(root, '.holdall'));
      await writeFile(join(root, name), 'of another program');
      await assert.rejects(openDisk({ root, log: silentLog }), (error) => {
        assert.ok(isStoreError(error, 'denied'), String(error));
        assert.match(error.message, new RegExp(`^DISK_ROOT .* "${RegExp.escape(name)}" .* Move it away`));
        return true;
      });
    }
  });
});

describe("A symbolic link that replaced one of Holdall's folders on a disk", () => {
  it('is not followed by deletes, which change nothing', async (t) => {
    const outside = await temporaryFolder(t);
    for (const target of [outside, join(outside, 'missing'), 'trash']) {
      const { store, files } = await openReplaced(t, 'trash', withLink(target));
      const fails = namesFolder('trash');
      await assert.rejects(files.deleteFile(file('f/a')), fails);
      await assert.rejects(files.deleteFolder(folder('f')), fails);
      await assert.rejects(files.listTrash(), fails);
      await assert.rejects(files.findTrashed(newKeptId()), fails);
      assert.deepEqual(await treeOf(store), { 'f/': null, 'f/a': 'x' });
      await files.deleteFile(file('f/a'), { permanent: true });
    }
    assert.deepEqual(await readdir(outside), []);
  });

  it('is not followed by replacements, which change nothing', async (t) => {
    const outside = await temporaryFolder(t);
    for (const target of [outside, join(outside, 'missing')]) {
      const { store, files } = await openReplaced(t, 'versions', withLink(target));
      const fails = namesFolder('versions');
      const replace = () => files.upload({ target: { path: file('f/a') }, body: upload('new').body });
      await assert.rejects(replace(), fails);
      await assert.rejects(files.listVersions(file('f/a')), fails);
      assert.deepEqual(await treeOf(store), { 'f/': null, 'f/a': 'x' });
      await files.deleteFile(file('f/a'), { permanent: true });
    }
    assert.deepEqual(await readdir(outside), []);
  });

  it('is not followed by uploads, by the end of the store or by its start', async (t) => {
    const outside = await temporaryFolder(t);
    await writeFile(join(outside, 'old'), 'mine');
    await utimes(join(outside, 'old'), 0, 0);
    for (const target of [outside, join(outside, 'missing'), 'temporary']) {
      const { store, files, ownFolder } = await openReplaced(t, 'temporary', withLink(target));
      const fails = namesFolder('temporary');
      await assert.rejects(files.upload({ target: { path: file('c') }, body: upload('new').body }), fails);
      await store.close?.();
      await assert.rejects(openDisk({ root: join(ownFolder, '..'), log: silentLog }), /"\.holdall\/temporary"/);
    }
    assert.deepEqual(await readdir(outside), ['old']);
  });

  it('does not lead uploads to the folder that it replaced', async (t) => {
    const outside = await temporaryFolder(t);
    const { store, ownFolder } = await openDisk({ root: await temporaryFolder(t), log: silentLog });
    atEnd(t, () => store.close?.());
    await rename(join(ownFolder, 'temporary'), join(outside, 'moved'));
    await symlink(join(outside, 'moved'), join(ownFolder, 'temporary'));
    await assert.rejects(store.write(file('a'), upload('x')), namesFolder('temporary'));
  });

  it('is not followed by the content of pending uploads', async (t) => {
    const outside = await temporaryFolder(t);
    await writeFile(join(outside, 'id'), 'mine');
    await utimes(join(outside, 'id'), 0, 0);
    const { store } = await openReplaced(t, 'uploads', withLink(outside));
    const fails = namesFolder('uploads');
    const run = async (call: Promise<unknown> | undefined) => call;
    await assert.rejects(run(store.createUpload?.('new', { file: file('c'), type: 'text/plain' })), fails);
    await assert.rejects(run(store.openUpload?.('id')), fails);
    await assert.rejects(run(store.removeUploads?.({ before: new Date(), isOrphaned: async () => true })), fails);
    assert.deepEqual(await readdir(outside), ['id']);
  });

  it('is logged at the start', async (t) => {
    const root = await temporaryFolder(t);
    await mkdir(join(root, '.holdall'));
    await symlink(await temporaryFolder(t), join(root, '.holdall/trash'));
    const messages: string[] = [];
    const log = { ...silentLog, error: (message: string) => void messages.push(message) };
    const { store } = await openDisk({ root, log });
    await store.close?.();
    assert.equal(messages.length, 1);
    assert.match(messages.join(), /Holdall's folders/);
  });
});

describe("A served path with the name of Holdall's folder", () => {
  it('has the errors of any other path', async (t) => {
    const roots = await temporaryFolder(t);
    for (const root of [join(roots, 'plain'), join(roots, '.holdall/data')]) {
      const { store } = await openDisk({ root, log: silentLog });
      atEnd(t, () => store.close?.());
      await plant(store, { 'n/': null, 'n/.holdall': 'x', a: 'x' });
      for (const above of ['n/.holdall', 'a']) {
        await assert.rejects(store.stat(file(`${above}/x`)), isCode('not-found'));
        await assert.rejects(store.write(file(`${above}/x`), upload('y')), isCode('wrong-kind'));
        await assert.rejects(store.createFolder(folder(`${above}/x`)), isCode('wrong-kind'));
        await assert.rejects(store.remove(file(`${above}/x`)), isCode('not-found'));
        assert.deepEqual(await store.listVersions(file(`${above}/x`)), { versions: [] });
      }
    }
  });
});

const isCode = (code: string) => (error: unknown) =>
  isStoreError(error) && error.code === code ? true : assert.fail(String(error));
