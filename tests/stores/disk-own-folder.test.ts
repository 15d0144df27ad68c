import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createFiles, type Files } from '../../src/domain/files.ts';
import { type Disk, openDisk } from '../../src/stores/disk/disk.ts';
import { file, folder, ofKind, pathsIn, plant, upload } from '../contract/bytes.ts';

describe("The disk's own folder", () => {
  let root: string;
  let disk: Disk;
  let files: Files;

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
    disk = await openDisk({ root, warn: () => {} });
    files = createFiles(disk.store, { presignExpires: 60 });
    await plant(disk.store, { 'a/b': 'x', c: 'y' });
  });
  after(async () => {
    await disk.store.close?.();
    await rm(root, { recursive: true, force: true });
  });

  it('is never listed', async () => {
    assert.ok((await readdir(root)).includes('.holdall'));
    assert.deepEqual(await pathsIn(disk.store, ''), ['a/', 'c']);
  });

  const replace = { replace: true };
  const attempts: Record<string, (path: string) => Promise<unknown>> = {
    list: (path) => files.list(folder(path)),
    stat: (path) => files.stat(file(path)),
    read: (path) => files.read(file(path)),
    upload: (path) => files.upload(file(path), { body: upload('x').body }),
    'delete file': (path) => files.deleteFile(file(path)),
    'delete folder': (path) => files.deleteFolder(folder(path)),
    'create folder': (path) => files.createFolder(folder(path)),
    'copy file from': (path) => files.copyFile(file(path), file('d'), replace),
    'copy file to': (path) => files.copyFile(file('c'), file(path), replace),
    'move file from': (path) => files.moveFile(file(path), file('d'), replace),
    'move file to': (path) => files.moveFile(file('c'), file(path), replace),
    'copy folder from': (path) => files.copyFolder(folder(path), folder('d'), replace),
    'copy folder to': (path) => files.copyFolder(folder('a'), folder(path), replace),
    'move folder from': (path) => files.moveFolder(folder(path), folder('d'), replace),
    'move folder to': (path) => files.moveFolder(folder('a'), folder(path), replace),
  };

  for (const [name, attempt] of Object.entries(attempts)) {
    for (const path of ['.holdall', '.holdall/signing-key', '.holdall/temporary', '.holdall/new']) {
      it(`is not-found and stays as it is: ${name} ${path}`, async () => {
        const key = await readFile(join(root, '.holdall/signing-key'), 'utf8');
        await assert.rejects(attempt(path), ofKind('not-found'));
        assert.equal(await readFile(join(root, '.holdall/signing-key'), 'utf8'), key);
        assert.deepEqual((await readdir(join(root, '.holdall'))).toSorted(), ['signing-key', 'temporary']);
        assert.deepEqual(await pathsIn(disk.store, ''), ['a/', 'c']);
      });
    }
  }

  it('is the name of an ordinary folder below the root', async () => {
    await plant(disk.store, { 'e/.holdall/f': 'z' });
    assert.deepEqual(await pathsIn(disk.store, 'e'), ['e/.holdall/']);
    await files.deleteFolder(folder('e'));
  });
});
