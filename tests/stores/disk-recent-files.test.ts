import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it, mock } from 'node:test';
import { parseFile } from '../../src/domain/path.ts';
import { type Disk, openDisk } from '../../src/stores/disk/disk.ts';
import { ofKind } from '../contract/bytes.ts';
import { until } from '../process/until.ts';

/** What is read again and again is remembered, unless it was written within the last minute. */
describe('A file on disk that was read a moment ago', () => {
  const NAMES = ['in place', 'replaced', 'removed', 'linked', 'folder/in it', 'moved/deep/in it', 'served', 'ranged'];

  /** What can become of a file that is at hand. */
  const CHANGES: Readonly<Record<string, (path: string) => Promise<void>>> = {
    'it was written to': (path) => writeFile(path, 'behind'),
    'another one took its place': async (path) => {
      await writeFile(`${path} new`, 'behind');
      await rename(`${path} new`, path);
    },
    'it was removed': (path) => rm(path),
    'a link took its place': async (path) => {
      await rename(path, `${path} before`);
      await symlink(`${path} before`, path);
    },
  };
  let root: string;
  let disk: Disk;

  const read = async (name: string) => (await buffer((await disk.store.read(parseFile(name))).body)).toString();
  const atHand = async (name: string) => (await disk.store.atHand?.(parseFile(name)))?.bytes?.toString();
  const looked = async (name: string) => (await disk.store.stat(parseFile(name))).etag;

  before(async () => {
    // A temporary folder may be one in memory, where no bytes are remembered.
    root = await mkdtemp(join('/var/tmp', 'holdall-test-'));
    disk = await openDisk({ root, warn: () => {} });
    await mkdir(join(root, 'folder'));
    await mkdir(join(root, 'moved/deep'), { recursive: true });
    const names = [...NAMES, ...Object.keys(CHANGES)];
    for (const name of names) await writeFile(join(root, name), 'before');
    // Of files that were changed within the last second, nothing is remembered.
    await until('they are old', async () => Date.now() - (await stat(join(root, 'ranged'))).ctimeMs > 1100);
    for (const name of names) {
      assert.equal(await atHand(name), undefined);
      assert.equal(await read(name), 'before');
      // For the time being: a program that has it mapped might store into it, and its times not tell.
      assert.equal(await atHand(name), undefined);
    }
    mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 });
    for (const name of names) assert.equal(await read(name), 'before');
    mock.timers.reset();
  });
  after(async () => {
    await disk.store.close?.();
    await rm(root, { recursive: true, force: true });
  });

  for (const [what, change] of Object.entries(CHANGES)) {
    it(`is at hand, as it is read, until ${what}`, async () => {
      assert.equal(await atHand(what), 'before');
      assert.deepEqual((await disk.store.atHand?.(parseFile(what)))?.file, await disk.store.stat(parseFile(what)));
      await change(join(root, what));
      assert.equal(await atHand(what), undefined);
    });
  }

  it('has other bytes, and another etag, as soon as it was written to in place', async () => {
    const etag = await looked('in place');
    await writeFile(join(root, 'in place'), 'behind');
    assert.equal(await read('in place'), 'behind');
    assert.notEqual(await looked('in place'), etag);
  });

  it('has them where the program that wrote set its time back', async () => {
    const { atime, mtime } = await stat(join(root, 'served'));
    await writeFile(join(root, 'served'), 'behind');
    await utimes(join(root, 'served'), atime, mtime);
    assert.equal(await read('served'), 'behind');
  });

  it('is the one that took its place', async () => {
    await writeFile(join(root, 'other'), 'behind');
    await rename(join(root, 'other'), join(root, 'replaced'));
    assert.equal(await read('replaced'), 'behind');
  });

  it('is not found when it was removed', async () => {
    await rm(join(root, 'removed'));
    await assert.rejects(disk.store.read(parseFile('removed')), ofKind('not-found'));
    await assert.rejects(disk.store.stat(parseFile('removed')), ofKind('not-found'));
  });

  it('is not found where a link took its place', async () => {
    await writeFile(join(root, 'target'), 'secret');
    await rm(join(root, 'linked'));
    await symlink(join(root, 'target'), join(root, 'linked'));
    await assert.rejects(disk.store.read(parseFile('linked')), ofKind('not-found'));
    await assert.rejects(disk.store.stat(parseFile('linked')), ofKind('not-found'));
  });

  it('is not found where a link took the place of its folder', async () => {
    await mkdir(join(root, 'elsewhere'));
    await writeFile(join(root, 'elsewhere/in it'), 'secret');
    await rename(join(root, 'folder'), join(root, 'folder before'));
    await symlink(join(root, 'elsewhere'), join(root, 'folder'));
    await assert.rejects(disk.store.read(parseFile('folder/in it')), ofKind('not-found'));
  });

  it('is not found where a link took the place of its folder, and leads to the same file', async () => {
    await rename(join(root, 'moved'), join(root, 'moved before'));
    await symlink(join(root, 'moved before'), join(root, 'moved'));
    assert.equal(await atHand('moved/deep/in it'), undefined);
    await assert.rejects(disk.store.read(parseFile('moved/deep/in it')), ofKind('not-found'));
    await assert.rejects(disk.store.stat(parseFile('moved/deep/in it')), ofKind('not-found'));
  });

  it('is given in part, and refused to those who want another version', async () => {
    const file = parseFile('ranged');
    const { body, range } = await disk.store.read(file, { range: { start: 1, end: 2 } });
    assert.deepEqual(range, { start: 1, end: 2 });
    assert.equal((await buffer(body)).toString(), 'ef');
    await assert.rejects(disk.store.read(file, { range: { start: 6 } }), ofKind('range-unsatisfiable'));
    await assert.rejects(disk.store.read(file, { ifMatch: 'another' }), ofKind('condition-failed'));
  });
});
