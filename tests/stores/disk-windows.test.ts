import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { GuardedFiles } from '../../src/access/guard.ts';
import { AccessDenied } from '../../src/access/permission-checks.ts';
import { createPolicy, type Permission } from '../../src/access/policy.ts';
import { createFiles } from '../../src/files/files.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { file, folder, ofKind, pathsIn, plant, silentLog } from '../contract/bytes.ts';
import { type FileSystemOfWindows, mountFileSystemOfWindows } from '../faults/mounts.ts';
import type { Need } from '../runner/needs.ts';
import { assertNotFound, inside, replace, serve } from './disk-served.ts';

export const needs: readonly Need[] = ['windows-file-systems'];

const run = promisify(execFile);

describe('A Windows file system', () => {
  for (const kind of ['ntfs', 'exfat'] as const) {
    it(`hides .holdall in all spellings on ${kind}`, async (t) => {
      const root = await mount(t, kind);
      const served = await serve(root);
      atEnd(t, () => served.disk.store.close?.());
      assert.equal((await readdir(join(root, '.HOLDALL'))).includes('signing-key'), true);
      await assertNotFound(served, ['.holdall', '.HOLDALL', '.hoLdall'].flatMap(inside));
      assert.deepEqual(await pathsIn(served.disk.store, ''), ['a/', 'c']);
    });

    it(`keeps files and folders on ${kind} when only the case of a name changes`, async (t) => {
      const root = await mount(t, kind);
      const { disk, files } = await serve(root);
      atEnd(t, () => disk.store.close?.());
      const bytes = (path: string) => readFile(join(root, path), 'utf8');
      for (const options of [{ replace: false }, replace]) {
        await files.renameFile(file('c'), 'C', options);
        assert.equal(await bytes('c'), 'y');
        await files.renameFolder(folder('a'), 'A', options);
        assert.equal(await bytes('a/b'), 'x');
      }
      const isInvalid = ofKind('invalid-request');
      await plant(disk.store, { 'a/sub/d': 'z' });
      await assert.rejects(files.copyFile(file('c'), file('C'), replace), isInvalid);
      await assert.rejects(files.copyFolder(folder('a'), folder('A'), replace), isInvalid);
      for (const [from, to] of [
        ['a', 'A/sub/e'],
        ['a/sub', 'A'],
      ] as const) {
        await assert.rejects(files.moveFolder(folder(from), folder(to), replace), isInvalid);
        await assert.rejects(files.copyFolder(folder(from), folder(to), replace), isInvalid);
      }
      assert.deepEqual(await Promise.all(['c', 'a/b', 'a/sub/d'].map(bytes)), ['y', 'x', 'z']);
    });
  }

  it('logs a warning, and grants match paths case-insensitively', async (t) => {
    const root = await mount(t, 'exfat');
    const warnings: string[] = [];
    const disk = await openDisk({ root, log: { ...silentLog, warn: (message) => warnings.push(message) } });
    atEnd(t, () => disk.store.close?.());
    assert.match(warnings.join(), /^The file system of DISK_ROOT ignores differences in spelling/);
    await plant(disk.store, { 'open/x': 'x', 'Private/x': 'secret' });
    const grantOf = (path: string, ...rights: Permission[]) =>
      ({ folder: folder(path), to: { kind: 'everyone' }, permissions: rights }) as const;
    const policy = createPolicy([], [grantOf('', 'read'), grantOf('private')], disk.names);
    const files = new GuardedFiles(createFiles(disk.store, { presignExpires: 60 }), {
      policy: () => policy,
      user: undefined,
      confirm: async () => {},
      record: () => {},
    });
    assert.equal((await files.stat(file('OPEN/x'))).size, 1);
    for (const path of ['private/x', 'Private/x', 'PRIVATE/X']) {
      await assert.rejects(async () => files.stat(file(path)), AccessDenied, path);
    }
    assert.deepEqual(await pathsIn(files, ''), ['open/']);
  });

  for (const kind of ['ntfs', 'exact-ntfs'] as const) {
    it(`returns not-found for unlisted 8.3 short names on ${kind}`, async (t) => {
      const root = await mount(t, kind);
      const served = await serve(root);
      atEnd(t, () => served.disk.store.close?.());
      await plant(served.disk.store, { 'private folder/b': 'secret', 'x~1.txt': 'listed' });
      await setShortName(join(root, '.holdall'), 'HOLDAL~1');
      await setShortName(join(root, 'private folder'), 'PRIVAT~1');
      assert.equal(await readFile(join(root, 'PRIVAT~1/b'), 'utf8'), 'secret');
      await assertNotFound(served, inside('HOLDAL~1'));
      for (const path of ['PRIVAT~1', 'PRIVAT~1/b', 'PRIVAT~1/new']) await assertNotFound(served, [path]);
      assert.equal((await served.files.stat(file('x~1.txt'))).size, 6);
      await setShortName(join(root, 'private folder'), 'PX3K2J~A');
      await assertNotFound(served, ['PX3K2J~A/b']);
    });
  }
});

/** Mounts a file system and returns its folder. */
async function mount(t: TestContext, kind: FileSystemOfWindows): Promise<string> {
  const base = await temporaryFolder(t);
  const reason = await mountFileSystemOfWindows(t, kind, { image: join(base, 'image'), folder: join(base, 'root') });
  assert.equal(reason, undefined);
  return join(base, 'root');
}

/** Sets the 8.3 short name of a file or folder, which Windows creates automatically. */
async function setShortName(path: string, name: string): Promise<void> {
  await run('setfattr', ['--name', 'system.ntfs_dos_name', '--value', name, path]);
}
