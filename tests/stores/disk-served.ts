import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFiles, type Files } from '../../src/files/files.ts';
import { type Disk, openDisk } from '../../src/stores/disk/disk.ts';
import { file, folder, ofKind, plant, silentLog, upload } from '../contract/bytes.ts';

export const replace = { replace: true };

/** All file operations, each applied to a path. */
const OPERATIONS: Record<string, (files: Files, path: string) => Promise<unknown>> = {
  list: (files, path) => files.list(folder(path)),
  stat: (files, path) => files.stat(file(path)),
  read: (files, path) => files.read(file(path)),
  upload: (files, path) => files.upload({ target: { path: file(path) }, body: upload('x').body }),
  'delete file': (files, path) => files.deleteFile(file(path)),
  'delete folder': (files, path) => files.deleteFolder(folder(path)),
  'create folder': (files, path) => files.createFolder(folder(path)),
  'copy file from': (files, path) => files.copyFile(file(path), file('d'), replace),
  'copy file to': (files, path) => files.copyFile(file('c'), file(path), replace),
  'move file from': (files, path) => files.moveFile(file(path), file('d'), replace),
  'move file to': (files, path) => files.moveFile(file('c'), file(path), replace),
  'rename file': (files, path) => files.renameFile(file(path), 'd', replace),
  'rename folder': (files, path) => files.renameFolder(folder(path), 'd', replace),
  'copy folder from': (files, path) => files.copyFolder(folder(path), folder('d'), replace),
  'copy folder to': (files, path) => files.copyFolder(folder('a'), folder(path), replace),
  'move folder from': (files, path) => files.moveFolder(folder(path), folder('d'), replace),
  'move folder to': (files, path) => files.moveFolder(folder('a'), folder(path), replace),
};

/** An open disk with two files. */
export interface Served {
  readonly root: string;
  readonly disk: Disk;
  readonly files: Files;
}

export async function serve(root: string): Promise<Served> {
  const disk = await openDisk({ root, log: silentLog });
  await plant(disk.store, { 'a/b': 'x', c: 'y' });
  return { root, disk, files: createFiles(disk.store, { presignExpires: 60 }) };
}

/** Asserts that each operation on each path fails as not-found, and that neither `.holdall` nor the root changes. */
export async function assertNotFound({ root, files }: Served, paths: readonly string[]): Promise<void> {
  const own = join(root, '.holdall');
  const key = await readFile(join(own, 'signing-key'), 'utf8');
  const entries = await readdir(root);
  for (const path of paths) {
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      await assert.rejects(operation(files, path), ofKind('not-found'), `${name} ${JSON.stringify(path)}`);
    }
  }
  assert.equal(await readFile(join(own, 'signing-key'), 'utf8'), key);
  assert.deepEqual((await readdir(own)).toSorted(), ['signing-key', 'temporary']);
  assert.deepEqual(await readdir(root), entries);
}

/** Returns paths of `.holdall` and in it, by another spelling. */
export const inside = (spelling: string) => ['', '/signing-key', '/temporary', '/new'].map((path) => spelling + path);
