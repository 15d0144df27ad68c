import assert from 'node:assert/strict';
import { link, mkdir, mkdtemp, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { comparePaths, MAX_PATH_BYTES } from '../../src/model/path.ts';
import { type Disk, openDisk } from '../../src/stores/disk/disk.ts';
import type { Folder } from '../../src/stores/disk/folder.ts';
import { createChildrenReader, packNames } from '../../src/stores/disk/list.ts';

import { folder, silentLog } from '../contract/bytes.ts';

/** An old modification time, so the store caches the names of the folder. */
const LONG_AGO = new Date('2020-01-01T00:00:00Z');

describe('A listing of a disk folder that other programs change', () => {
  let root: string;
  let disk: Disk;
  const warnings: { readonly omitted?: number }[] = [];

  const names = async (path: string) => {
    const { entries } = await disk.store.list(folder(path));
    return entries.map((entry) => entry.path.slice(path.length));
  };
  const age = (path: string) => utimes(join(root, path), LONG_AGO, LONG_AGO);

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
    disk = await openDisk({ root, log: { ...silentLog, warn: (_message, details) => void warnings.push(details) } });
    for (const name of ['a', 'b', 'c']) {
      await mkdir(join(root, name));
      await writeFile(join(root, name, 'one'), '1');
      await age(name);
    }
  });
  after(async () => {
    await disk.store.close?.();
    await rm(root, { recursive: true, force: true });
  });

  it('shows files created and removed since the last listing', async () => {
    assert.deepEqual(await names('a/'), ['one']);
    await writeFile(join(root, 'a/two'), '2');
    assert.deepEqual(await names('a/'), ['one', 'two']);
    await rm(join(root, 'a/one'));
    assert.deepEqual(await names('a/'), ['two']);
  });

  it('shows a new file although the folder mtime was reset', async () => {
    assert.deepEqual(await names('b/'), ['one']);
    await writeFile(join(root, 'b/two'), '2');
    await age('b');
    assert.deepEqual(await names('b/'), ['one', 'two']);
  });

  it('rejects an empty cursor also if the whole folder was just listed', async () => {
    await mkdir(join(root, 'e'));
    await age('e');
    for (let listings = 0; listings < 2; listings++) assert.deepEqual(await names('e/'), []);
    await assert.rejects(disk.store.list(folder('e/'), { cursor: '' }), { code: 'invalid-cursor' });
  });

  it('shows the folder that replaced the listed one', async () => {
    assert.deepEqual(await names('c/'), ['one']);
    await mkdir(join(root, 'other'));
    await writeFile(join(root, 'other/else'), 'e');
    await age('other');
    await rename(join(root, 'c'), join(root, 'c-before'));
    await rename(join(root, 'other'), join(root, 'c'));
    assert.deepEqual(await names('c/'), ['else']);
  });

  it('shows the current size of a file that was overwritten', async () => {
    await mkdir(join(root, 'd'));
    await writeFile(join(root, 'd/file'), 'short');
    await age('d');
    const sizeOf = async () => {
      const [entry] = (await disk.store.list(folder('d/'))).entries;
      return entry?.kind === 'file' ? entry.size : undefined;
    };
    assert.equal(await sizeOf(), 5);
    await writeFile(join(root, 'd/file'), 'longer than before');
    assert.equal(await sizeOf(), 18);
  });

  it('returns the same entries while nothing changes, and new ones only for changed files', async () => {
    await mkdir(join(root, 'e/folder'), { recursive: true });
    for (const name of ['one', 'two', 'three']) await writeFile(join(root, 'e', name), name);
    await age('e');
    const list = async (limit?: number) => (await disk.store.list(folder('e/'), { limit })).entries;
    const earlier = await list();
    assert.equal(await list(), earlier);
    assert.notEqual(await list(2), earlier);

    // An overwrite in place with as many bytes, whose modification time is set back.
    const { atime, mtime } = await stat(join(root, 'e/one'));
    await writeFile(join(root, 'e/one'), 'ONE');
    await utimes(join(root, 'e/one'), atime, mtime);
    await rm(join(root, 'e/two'));
    await age('e');
    const later = await list();
    const [folderBefore, one, three] = earlier;
    assert.deepEqual(
      later.map(({ path }) => path),
      ['e/folder/', 'e/one', 'e/three'],
    );
    assert.deepEqual([later[0], later[2]], [folderBefore, three]);
    assert.notDeepEqual(later[1], one);
  });

  it('is complete for concurrent listings of a folder with 2,000 long names', async () => {
    const large = join(root, 'large');
    await mkdir(join(large, 'folder'), { recursive: true });
    // Folders sort by their name with `/`, so this file comes before the folder.
    await writeFile(join(large, 'folder!'), '');
    await symlink('folder', join(large, 'link'));
    await writeFile(Buffer.concat([Buffer.from(`${large}/`), Buffer.from([0xff])]), '');
    const long = Array.from({ length: 2000 }, (_, index) => `é${String(index).padStart(200, '0')}`);
    // Links to one file are cheaper than files, and the same in a listing.
    for (const name of long) await link(join(large, 'folder!'), join(large, name));
    assert.ok((await stat(large)).size > 256 * 1024, 'a large folder');
    await age('large');
    warnings.length = 0;
    const listings = await Promise.all([names('large/'), names('large/'), names('large/')]);
    for (const listed of [...listings, await names('large/')])
      assert.deepEqual(listed, ['folder!', 'folder/', ...long]);
    assert.deepEqual(new Set(warnings.map(({ omitted }) => omitted)), new Set([2]));
  });
});

describe('The names of a large folder', () => {
  it('are read once for all pages of a folder with 210,000 entries', async () => {
    const count = 210_000;
    let reads = 0;
    const entry = { isFile: () => true, isDirectory: () => false };
    const huge = {
      stats: () => ({ dev: 1n, ino: 2n, size: 10_000_000n, mtimeNs: 3n, ctimeNs: 4n, mtimeMs: 0n }),
      async readNames(_options: unknown, visit: (entry: object) => void) {
        reads++;
        for (let index = count; index > 0; index--)
          visit({ ...entry, name: Buffer.from(String(index).padStart(6, '0')) });
      },
    };
    const readChildren = createChildrenReader(MAX_PATH_BYTES);
    const [first, second] = await Promise.all(
      [0, 1].map(() => readChildren(huge as unknown as Folder, folder('huge/'))),
    );
    const third = await readChildren(huge as unknown as Folder, folder('huge/'));
    assert.equal(reads, 1);
    for (const children of [first, second, third]) {
      assert.equal(children?.names.length, count);
      assert.deepEqual(children?.names.slice(99_999, 100_001), ['100000', '100001']);
    }
  });

  it('are packed in UTF-8 byte order', async () => {
    const characters = ['a', 'b', '!', '0', 'é', '中', '\u{1f600}', '\ufffd', '\ue000', ' '];
    const names = Array.from({ length: 40_000 }, (_, index) => {
      const digits = String((index * 7919) % 100_000).padStart(5, '0');
      const name = Array.from(digits, (digit) => characters[Number(digit)]).join('');
      return index % 3 === 0 ? `${name}/` : name;
    });
    const packed = await packNames(names.map((name) => Buffer.from(name).toString('latin1')));
    assert.deepEqual(packed.slice(0, Infinity), names.toSorted(comparePaths));
    assert.equal(packed.at(-1), undefined);
    assert.equal(packed.at(names.length), undefined);
    assert.deepEqual(packed.slice(names.length, Infinity), []);
  });

  it('are empty for an empty folder', async () => {
    const packed = await packNames([]);
    assert.deepEqual([packed.length, packed.slice(0, 10)], [0, []]);
  });
});
