import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { AccessDenied } from '../../src/access/access-denied.ts';
import { guardFiles } from '../../src/access/guard.ts';
import { createPolicy } from '../../src/access/policy.ts';
import type { Right } from '../../src/access/rights.ts';
import { createFiles, type Files } from '../../src/domain/files.ts';
import { type Disk, openDisk } from '../../src/stores/disk/disk.ts';
import { isOwnName } from '../../src/stores/disk/own-folder.ts';
import { file, folder, ofKind, pathsIn, plant, upload } from '../contract/bytes.ts';
import { type FileSystemOfWindows, mountBind, mountFileSystemOfWindows } from '../faults/mounts.ts';
import { atEnd, temporaryFolder } from '../process/holdall.ts';

const run = promisify(execFile);

const replace = { replace: true };

/** Every operation on a path. */
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

/** Other spellings of the folder, each of which some file system takes for it. */
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
  // Windows drops trailing dots and spaces, and takes what follows a colon for a stream.
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

/** Requires that each operation on each path is refused, and that nothing in Holdall's own folder and beside it changes. */
async function requireOutOfReach({ root, files }: Served, paths: readonly string[]): Promise<void> {
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

  it('is not found by any operation', () => requireOutOfReach(served, inside('.holdall')));

  for (const spelling of SPELLINGS) {
    it(`is not found as ${JSON.stringify(spelling)}, on a file system that tells the names apart too`, () =>
      requireOutOfReach(served, inside(spelling)));
  }

  it('leaves folders that another spelling of its name has out of the listing', async () => {
    await mkdir(join(served.root, '.HoldAll'));
    assert.deepEqual(await pathsIn(served.disk.store, ''), ['a/', 'c']);
  });

  it('is not found through a bind mount', async (t) => {
    const { root } = served;
    const reason = await mountBind(t, join(root, '.holdall'), join(root, 'alias'));
    if (reason) return t.skip(reason);
    await requireOutOfReach(served, inside('alias'));
  });

  it('is the name of an ordinary folder below the root', async () => {
    const { disk, files } = served;
    await plant(disk.store, { 'e/.holdall/f': 'z', 'e/.HOLDALL/f': 'z' });
    assert.deepEqual(await pathsIn(disk.store, 'e'), ['e/.HOLDALL/', 'e/.holdall/']);
    await files.deleteFolder(folder('e'));
  });

  it('has nothing to do with other names', () => {
    for (const name of ['holdall', '.holdal', '.holdalls', '.holdall.txt', '.hold all', 'x.holdall', '.', 'é', '']) {
      assert.equal(isOwnName(name), false, name);
    }
  });
});

describe('A file system of Windows', () => {
  for (const kind of ['ntfs', 'exfat'] as const) {
    it(`does not give Holdall's own folder away on ${kind}`, async (t) => {
      const root = await mounted(t, kind);
      if (root === undefined) return;
      const served = await serve(root);
      atEnd(t, () => served.disk.store.close?.());
      assert.equal((await readdir(join(root, '.HOLDALL'))).includes('signing-key'), true);
      await requireOutOfReach(served, ['.holdall', '.HOLDALL', '.hoLdall'].flatMap(inside));
      assert.deepEqual(await pathsIn(served.disk.store, ''), ['a/', 'c']);
    });

    it(`loses no file and no folder on ${kind} when a spelling changes`, async (t) => {
      const root = await mounted(t, kind);
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
      const isRefused = ofKind('invalid-request');
      await plant(disk.store, { 'a/sub/d': 'z' });
      await assert.rejects(files.copyFile(file('c'), file('C'), replace), isRefused);
      await assert.rejects(files.copyFolder(folder('a'), folder('A'), replace), isRefused);
      for (const [from, to] of [
        ['a', 'A/sub/e'],
        ['a/sub', 'A'],
      ] as const) {
        await assert.rejects(files.moveFolder(folder(from), folder(to), replace), isRefused);
        await assert.rejects(files.copyFolder(folder(from), folder(to), replace), isRefused);
      }
      assert.deepEqual(await Promise.all(['c', 'a/b', 'a/sub/d'].map(bytes)), ['y', 'x', 'z']);
    });
  }

  it('warns, and has grants compared as it compares names', async (t) => {
    const root = await mounted(t, 'exfat');
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
    it(`refuses short names of Windows on ${kind}, which no listing shows`, async (t) => {
      const root = await mounted(t, kind);
      if (root === undefined) return;
      const served = await serve(root);
      atEnd(t, () => served.disk.store.close?.());
      await plant(served.disk.store, { 'private folder/b': 'secret', 'x~1.txt': 'listed' });
      await setShortName(join(root, '.holdall'), 'HOLDAL~1');
      await setShortName(join(root, 'private folder'), 'PRIVAT~1');
      assert.equal(await readFile(join(root, 'PRIVAT~1/b'), 'utf8'), 'secret');
      await requireOutOfReach(served, inside('HOLDAL~1'));
      for (const path of ['PRIVAT~1', 'PRIVAT~1/b', 'PRIVAT~1/new']) await requireOutOfReach(served, [path]);
      assert.equal((await served.files.stat(file('x~1.txt'))).size, 6);
      await setShortName(join(root, 'private folder'), 'PX3K2J~A');
      await requireOutOfReach(served, ['PX3K2J~A/b']);
    });
  }
});

/** Mounts a file system and returns its folder; skips the test where the machine refuses. */
async function mounted(t: TestContext, kind: FileSystemOfWindows): Promise<string | undefined> {
  const base = await temporaryFolder(t);
  const reason = await mountFileSystemOfWindows(t, kind, { image: join(base, 'image'), folder: join(base, 'root') });
  if (reason === undefined) return join(base, 'root');
  t.skip(reason);
  return undefined;
}

/** Sets the short name of a file or folder, as Windows does by itself when it makes one. */
async function setShortName(path: string, name: string): Promise<void> {
  await run('setfattr', ['--name', 'system.ntfs_dos_name', '--value', name, path]);
}
