import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { createFolderOperations } from '../../src/files/folder-operations.ts';
import { SharedFiles } from '../../src/files/shared-files.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { ROOT } from '../../src/model/path.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { archiveStream } from '../../src/zip/archive-stream.ts';
import { Checksums } from '../../src/zip/checksums.ts';
import { buildArchive } from '../../src/zip/walk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { file, folder, longPath, plant, silentLog, treeOf, upload } from '../contract/bytes.ts';
import { parseArchive } from '../zip/parse-archive.ts';
import { asOther } from './other-user.ts';

const keep = { replace: false };

async function open(t: TestContext) {
  const { store, root, ownFolder } = await openDisk({ root: await temporaryFolder(t), log: silentLog });
  atEnd(t, async () => store.close?.());
  const temporaryFiles = async () =>
    (await readdir(join(ownFolder, 'temporary'), { recursive: true })).filter(isContent);
  return { store, folders: createFolderOperations(store), root, temporaryFiles };
}

/** The locks and markers of running processes remain. */
const isContent = (name: string) => name.includes('/');

/** Runs a task on an open disk as another user. */
async function asOtherIn<Result>(root: string, task: () => Promise<Result>): Promise<Result> {
  for (const path of ['', '.holdall', '.holdall/temporary']) await chmod(join(root, path), 0o777);
  return asOther(task);
}

/** Names that no path can have, and how a message shows them. */
const UNNAMEABLE: readonly (readonly [Buffer, string])[] = [
  [Buffer.from('line\nfeed'), String.raw`"a/b/line\nfeed"`],
  [Buffer.from([0x63, 0xff]), `"a/b/c\ufffd"`],
  [Buffer.from('\u007f'), String.raw`"a/b/\u007f"`],
];

describe('A copy of a folder on a disk', () => {
  for (const [name, shown] of UNNAMEABLE) {
    for (const isFolder of [false, true]) {
      it(`fails before any change if no path can name a ${isFolder ? 'folder' : 'file'}: ${shown}`, async (t) => {
        const { store, folders, root, temporaryFiles } = await open(t);
        await plant(store, { 'a/b/c': '1', 'to/old': 'old' });
        const path = Buffer.concat([Buffer.from(join(root, 'a/b/')), name]);
        await (isFolder ? mkdir(path) : writeFile(path, 'x'));
        for (const options of [keep, { replace: true }]) {
          await assert.rejects(folders.copyFolder(folder('a'), folder(options.replace ? 'to' : 'new'), options), {
            code: 'invalid-path',
            message: `The path ${shown} can't be copied: it contains a control character or is not UTF-8. Rename it on the disk.`,
          });
        }
        assert.deepEqual(await treeOf(store, 'to/'), { 'to/old': 'old' });
        assert.deepEqual((await readdir(root)).toSorted(), ['.holdall', 'a', 'to']);
        assert.deepEqual(await temporaryFiles(), []);
      });
    }
  }

  for (const kind of ['file', 'folder'] as const) {
    it(`names an unreadable ${kind} before any change`, async (t) => {
      const { store, folders, root, temporaryFiles } = await open(t);
      await plant(store, { 'a/1': '1', 'a/b/c': 'secret', 'a/z': 'z' });
      const path = kind === 'file' ? 'a/b/c' : 'a/b/';
      await chmod(join(root, path), 0);
      await asOtherIn(root, () =>
        assert.rejects(folders.copyFolder(folder('a'), folder('new'), keep), {
          code: 'denied',
          message: `The operating system denied access to "${path}". Check its owner and permissions.`,
        }),
      );
      await chmod(join(root, path), 0o755);
      assert.deepEqual(await temporaryFiles(), []);
      assert.deepEqual((await readdir(root)).toSorted(), ['.holdall', 'a']);
    });
  }

  it('still skips symbolic links and temporary files', async (t) => {
    const { store, folders, root } = await open(t);
    await plant(store, { 'a/1': '1' });
    await symlink('1', join(root, 'a/link\n'));
    await writeFile(join(root, 'a/.holdall~01234567-89ab-cdef-0123-456789abcdef'), 'x');
    await folders.copyFolder(folder('a'), folder('new'), keep);
    assert.deepEqual(await readdir(join(root, 'new')), ['1']);
  });
});

describe('A ZIP archive of a disk', () => {
  it('lists what the service can not read or name, and has the rest', async (t) => {
    const { store, root } = await open(t);
    await plant(store, { 'a/1': '1', 'a/closed/2': '2', 'a/secret': 'secret', 'a/Missing files.txt': 'own' });
    await mkdir(join(root, 'a/line\nfeed'));
    await writeFile(Buffer.concat([Buffer.from(join(root, 'a/c')), Buffer.from([0xff])]), 'x');
    await symlink('1', join(root, 'a/link'));
    for (const path of ['a/closed', 'a/secret']) await chmod(join(root, path), 0);
    const files = createFiles(store, { presignExpires: 60 });
    const zip = async (path: string) => {
      const archive = await buildArchive(files, [folder(path)]);
      const options = { files, checksums: new Checksums(), signal: AbortSignal.timeout(60_000) };
      const whole = await buffer(archiveStream(archive, options));
      assert.equal(whole.length, archive.size);
      const range = { start: Math.floor(whole.length / 2), end: whole.length - 1 };
      const end = await buffer(archiveStream(await buildArchive(files, [folder(path)]), { ...options, range }));
      assert.ok(end.equals(whole.subarray(range.start)));
      return Object.fromEntries(parseArchive(whole).map(({ name, content }) => [name, content.toString()]));
    };
    const list = [
      'This archive is incomplete. Holdall could not read:',
      '',
      '"a/closed/": the service has no permission',
      '"a/c\ufffd": its name is not valid, or its path is too long',
      String.raw`"a/line\nfeed": its name is not valid, or its path is too long`,
      '"a/secret": the service has no permission',
      '',
    ].join('\n');
    await asOtherIn(root, async () => {
      assert.deepEqual(await zip('a'), { 'a/1': '1', 'a/Missing files.txt': 'own', 'Missing files.txt': list });
      await assert.rejects(zip('a/closed'), { code: 'denied' });
      await assert.rejects(buildArchive(files, [file('a/secret')]), { code: 'denied', message: /"a\/secret"/ });
      const archive = await buildArchive(files, [file('a/1'), file('a/secret')]);
      assert.equal(archive.length, 2);
      const cursors = { seal: String, open: String };
      const shared = new SharedFiles(files, { folder: folder('a'), file: undefined, cursors, sign: String });
      assert.equal((await buildArchive(shared, [ROOT])).length, 3);
    });
    for (const path of ['a/closed', 'a/secret']) await chmod(join(root, path), 0o755);
    // A file at the top has the name already.
    await rename(join(root, 'a/Missing files.txt'), join(root, 'Missing files.txt'));
    assert.deepEqual(Object.keys(await zip('')).toSorted(), [
      'Missing files (2).txt',
      'Missing files.txt',
      'a/1',
      'a/closed/2',
      'a/secret',
    ]);
  });
});

describe('An operation on a folder of a disk', () => {
  const TO = 'b'.repeat(230);
  const tooLong = {
    code: 'path-too-long',
    message: new RegExp(`^The path "b{80}…y{39}" has \\d+ bytes\\. The maximum is \\d+\\.$`),
  };

  for (const operation of ['copyFolder', 'moveFolder', 'restoreTrashed'] as const) {
    it(`names the path that would be too long: ${operation}`, async (t) => {
      const { store, folders } = await open(t);
      await store.write(file(longPath('a', (store.maxPathBytes?.() ?? 0) - 200)), upload('deep'));
      const before = await treeOf(store);
      if (operation === 'restoreTrashed') {
        const { id } = await store.moveToTrash(folder('a'), { id: newKeptId() });
        await assert.rejects(store.restoreTrashed(id, folder(TO)), tooLong);
        await store.restoreTrashed(id, folder('a'));
      } else {
        await assert.rejects(folders[operation](folder('a'), folder(TO), keep), tooLong);
      }
      assert.deepEqual(await treeOf(store), before);
    });
  }

  it('names the path that is already too long', async (t) => {
    const { store, folders, root } = await open(t);
    await store.write(file(longPath('a', (store.maxPathBytes?.() ?? 0) - 200)), upload('deep'));
    await rename(join(root, 'a'), join(root, TO));
    for (const operation of ['copyFolder', 'moveFolder'] as const) {
      await assert.rejects(folders[operation](folder(TO), folder(`${TO}2`), keep), { code: 'path-too-long' });
    }
    await folders.moveFolder(folder(TO), folder('a'), keep);
    assert.deepEqual(await readdir(root), ['.holdall', 'a']);
    await rm(join(root, 'a'), { recursive: true });
  });

  it('takes names that no path can have along in a move', async (t) => {
    const { store, folders, root } = await open(t);
    await plant(store, { 'a/1': '1' });
    await writeFile(join(root, 'a/line\nfeed'), 'x');
    await folders.moveFolder(folder('a'), folder('longer'), keep);
    assert.deepEqual(await readdir(join(root, 'longer')), ['1', 'line\nfeed']);
  });
});
