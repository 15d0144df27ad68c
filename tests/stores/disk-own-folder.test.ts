import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { AccessDenied, guardFiles } from '../../src/access/guard.ts';
import { createPolicy, type Right } from '../../src/access/policy.ts';
import { createFiles, type Files } from '../../src/files/files.ts';
import { type Disk, openDisk } from '../../src/stores/disk/disk.ts';
import { isReservedName } from '../../src/stores/disk/reserved-names.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { file, folder, ofKind, pathsIn, plant, upload } from '../contract/bytes.ts';
import { type FileSystemOfWindows, mountBind, mountFileSystemOfWindows } from '../faults/mounts.ts';

const run = promisify(execFile);

const replace = { replace: true };

/** All file operations, each applied to a path. */
const OPERATIONS: Record<string, (files: Files, path: string) => Promise<unknown>> = {
  list: (files, path) => files.list(folder(path)),
  stat: (files, path) => files.stat(file(path)),
  read: (files, path) => files.read(file(path)),
  upload: (files, path) => files.upload(file(path), { body: upload('x').body }),
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

/** Other spellings of `.holdall` that resolve to it on some file systems. */
const SPELLINGS = [
  '.HOLDALL',
  '.Holdall',
  // Code points that ext4 and HFS+ ignore: zero-width joiner, soft hyphen, byte order mark.
  '.hold\u200dall',
  '\u00ad.holdall',
  '.holdall\ufeff',
  // Full-width letters, and a script letter: mounts with a code page map them to ASCII.
  '\uff0e\uff48\uff4f\uff4c\uff44\uff41\uff4c\uff4c',
  '.ho\u2113dall',
  // Windows drops trailing dots and spaces. A colon starts the name of an alternate data stream.
  '.holdall.',
  '.holdall. .',
  '.holdall ',
  '.holdall::$INDEX_ALLOCATION',
  '.HOLDALL:x',
  '.holdall\\signing-key',
];

interface Served {
  readonly root: string;
  readonly disk: Disk;
  readonly files: Files;
}

async function serve(root: string): Promise<Served> {
  const disk = await openDisk({ root, warn: () => {} });
  await plant(disk.store, { 'a/b': 'x', c: 'y' });
  return { root, disk, files: createFiles(disk.store, { presignExpires: 60 }) };
}

/** Asserts that each operation on each path fails as not-found, and that neither `.holdall` nor the root changes. */
async function assertNotFound({ root, files }: Served, paths: readonly string[]): Promise<void> {
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

const inside = (spelling: string) => ['', '/signing-key', '/temporary', '/new'].map((path) => spelling + path);

describe("Holdall's own folder", () => {
  let served: Served;

  before(async () => {
    served = await serve(await mkdtemp(join(tmpdir(), 'holdall-test-')));
  });
  after(async () => {
    await served.disk.store.close?.();
    await rm(served.root, { recursive: true, force: true });
  });

  it('is never listed', async () => {
    assert.ok((await readdir(served.root)).includes('.holdall'));
    assert.deepEqual(await pathsIn(served.disk.store, ''), ['a/', 'c']);
  });

  it('is not found by any operation', () => assertNotFound(served, inside('.holdall')));

  for (const spelling of SPELLINGS) {
    it(`is not found as ${JSON.stringify(spelling)}, even on a case-sensitive file system`, () =>
      assertNotFound(served, inside(spelling)));
  }

  it('hides a folder named with another spelling of .holdall from listings', async () => {
    await mkdir(join(served.root, '.HoldAll'));
    assert.deepEqual(await pathsIn(served.disk.store, ''), ['a/', 'c']);
  });

  it('is not found through a bind mount', async (t) => {
    const { root } = served;
    const reason = await mountBind(t, join(root, '.holdall'), join(root, 'alias'));
    if (reason) return t.skip(reason);
    await assertNotFound(served, inside('alias'));
  });

  it('is only reserved at the root: a subfolder may contain .holdall', async () => {
    const { disk, files } = served;
    await plant(disk.store, { 'e/.holdall/f': 'z', 'e/.HOLDALL/f': 'z' });
    assert.deepEqual(await pathsIn(disk.store, 'e'), ['e/.HOLDALL/', 'e/.holdall/']);
    await files.deleteFolder(folder('e'));
  });

  it('does not reserve similar names', () => {
    for (const name of ['holdall', '.holdal', '.holdalls', '.holdall.txt', '.hold all', 'x.holdall', '.', 'é', '']) {
      assert.equal(isReservedName(name), false, name);
    }
  });
});

describe('A Windows file system', () => {
  for (const kind of ['ntfs', 'exfat'] as const) {
    it(`hides .holdall in all spellings on ${kind}`, async (t) => {
      const root = await mountOrSkip(t, kind);
      if (root === undefined) return;
      const served = await serve(root);
      atEnd(t, () => served.disk.store.close?.());
      assert.equal((await readdir(join(root, '.HOLDALL'))).includes('signing-key'), true);
      await assertNotFound(served, ['.holdall', '.HOLDALL', '.hoLdall'].flatMap(inside));
      assert.deepEqual(await pathsIn(served.disk.store, ''), ['a/', 'c']);
    });

    it(`keeps files and folders on ${kind} when only the case of a name changes`, async (t) => {
      const root = await mountOrSkip(t, kind);
      if (root === undefined) return;
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
    const root = await mountOrSkip(t, 'exfat');
    if (root === undefined) return;
    const warnings: string[] = [];
    const disk = await openDisk({ root, warn: (message) => warnings.push(message) });
    atEnd(t, () => disk.store.close?.());
    assert.match(warnings.join(), /^The file system of DISK_ROOT ignores differences in spelling/);
    await plant(disk.store, { 'open/x': 'x', 'Private/x': 'secret' });
    const grantOf = (path: string, ...rights: Right[]) =>
      ({ folder: folder(path), to: { kind: 'everyone' }, rights }) as const;
    const policy = createPolicy([], [grantOf('', 'read'), grantOf('private')], disk.names);
    const files = guardFiles(createFiles(disk.store, { presignExpires: 60 }), {
      policy: () => policy,
      who: undefined,
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
      const root = await mountOrSkip(t, kind);
      if (root === undefined) return;
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

/** Mounts a file system and returns its folder, or skips the test if it cannot be mounted. */
async function mountOrSkip(t: TestContext, kind: FileSystemOfWindows): Promise<string | undefined> {
  const base = await temporaryFolder(t);
  const reason = await mountFileSystemOfWindows(t, kind, { image: join(base, 'image'), folder: join(base, 'root') });
  if (reason === undefined) return join(base, 'root');
  t.skip(reason);
  return undefined;
}

/** Sets the 8.3 short name of a file or folder, which Windows creates automatically. */
async function setShortName(path: string, name: string): Promise<void> {
  await run('setfattr', ['--name', 'system.ntfs_dos_name', '--value', name, path]);
}
