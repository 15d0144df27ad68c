import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Disk, openDisk } from '../../src/stores/disk/disk.ts';
import { folder } from '../contract/bytes.ts';

/** A time long ago: a folder of that time has been left alone since, and its names are remembered. */
const LONG_AGO = new Date('2020-01-01T00:00:00Z');

describe('A listing of a folder on disk that others change', () => {
  let root: string;
  let disk: Disk;

  const names = async (path: string) => {
    const { entries } = await disk.store.list(folder(path));
    return entries.map((entry) => entry.path.slice(path.length));
  };
  const age = (path: string) => utimes(join(root, path), LONG_AGO, LONG_AGO);

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
    disk = await openDisk({ root, warn: () => {} });
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

  it('has what was added and removed since the last one', async () => {
    assert.deepEqual(await names('a/'), ['one']);
    await writeFile(join(root, 'a/two'), '2');
    assert.deepEqual(await names('a/'), ['one', 'two']);
    await rm(join(root, 'a/one'));
    assert.deepEqual(await names('a/'), ['two']);
  });

  it('has it too where the time of the folder was set back', async () => {
    assert.deepEqual(await names('b/'), ['one']);
    await writeFile(join(root, 'b/two'), '2');
    await age('b');
    assert.deepEqual(await names('b/'), ['one', 'two']);
  });

  it('is of the folder that has the name now', async () => {
    assert.deepEqual(await names('c/'), ['one']);
    await mkdir(join(root, 'other'));
    await writeFile(join(root, 'other/else'), 'e');
    await age('other');
    await rename(join(root, 'c'), join(root, 'c-before'));
    await rename(join(root, 'other'), join(root, 'c'));
    assert.deepEqual(await names('c/'), ['else']);
  });

  it('tells the size and the time of files as they are now', async () => {
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
});
