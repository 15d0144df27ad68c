import assert from 'node:assert/strict';
import fs, { renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { historyOf } from '../../src/stores/disk/version-names.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { file, folder, ofKind, plant, silentLog, treeOf, upload } from '../contract/bytes.ts';
import { createClaim, timesOpen } from './disk-claims.ts';

async function open(t: TestContext) {
  const disk = await openDisk({ root: await temporaryFolder(t), log: silentLog });
  atEnd(t, () => disk.store.close?.());
  return disk;
}

type Disk = Awaited<ReturnType<typeof open>>;

/** The number of a call of a function with a path that has this end. */
type MomentOfMove = readonly ['open' | 'readFile', end: string, number: number];

/** Moves the folder `f` to `g` at that call. */
function moveFolderAt(t: TestContext, { root }: Disk, [name, end, number]: MomentOfMove): void {
  const original = fs.promises[name];
  let calls = 0;
  t.mock.method(fs.promises, name, (...given: unknown[]) => {
    if (String(given[0]).endsWith(end) && ++calls === number) renameSync(join(root, 'f'), join(root, 'g'));
    return Reflect.apply(original, fs.promises, given);
  });
  syncBuiltinESMExports();
  atEnd(t, () => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
    assert.ok(calls >= number, 'The folder was moved during the operation.');
  });
}

const MOVED_TREE = { 'g/a': '1', 'g/d/': null, 'g/d/b': '2' };
const MOVED = { 'g/': null, ...MOVED_TREE };

describe('A change on a disk whose folder another request moves meanwhile', () => {
  for (const [what, during, run] of [
    ['a delete of a file', ['open', '.json', 1], ({ store }) => store.moveToTrash(file('f/a'), { id: newKeptId() })],
    [
      'a delete of a folder',
      ['readFile', 'mountinfo', 1],
      ({ store }) => store.moveToTrash(folder('f/d'), { id: newKeptId() }),
    ],
    ['a permanent delete of a folder', ['readFile', 'mountinfo', 1], ({ store }) => store.removeTree?.(folder('f/d'))],
    [
      'a move of a folder',
      ['readFile', 'mountinfo', 1],
      ({ store }) => store.moveFolder?.(folder('f/d'), folder('e'), { replace: true }),
    ],
  ] satisfies [string, MomentOfMove, (disk: Disk) => Promise<unknown> | undefined][]) {
    it(`does not affect the moved items: ${what}`, async (t) => {
      const disk = await open(t);
      await plant(disk.store, { 'f/a': '1', 'f/d/b': '2' });
      moveFolderAt(t, disk, during);
      await assert.rejects(async () => run(disk), ofKind('not-found'));
      assert.deepEqual(await treeOf(disk.store), MOVED);
      assert.deepEqual((await disk.store.listTrash({})).items, []);
    });
  }

  for (const keep of [undefined, {}]) {
    it(`replaces no folder at the new path${keep ? ', and keeps none' : ''}`, async (t) => {
      const disk = await open(t);
      await plant(disk.store, { 'f/a': '1', 'f/d/b': '2', 'e/c': '3' });
      moveFolderAt(t, disk, ['readFile', 'mountinfo', 2]);
      const moving = disk.store.moveFolder?.(folder('e'), folder('f/d'), { replace: true, ...(keep && { keep }) });
      await assert.rejects(async () => moving, ofKind('unavailable'));
      assert.deepEqual(await treeOf(disk.store), { 'e/': null, 'e/c': '3', ...MOVED });
    });
  }

  for (const [what, run, outcome] of [
    ['delete', (disk) => disk.store.remove(file('f/a')), 'rejected'],
    ['move', (disk) => disk.store.move?.(file('x'), file('f/a'), { replace: true }), 'fulfilled'],
    ['write', (disk) => disk.store.write(file('f/a'), upload('later')), 'fulfilled'],
  ] satisfies [string, (disk: Disk) => Promise<unknown> | undefined, string][]) {
    it(`does not affect the moved file after it waited for a replacement: a ${what}`, async (t) => {
      const disk = await open(t);
      const { store, root, ownFolder } = disk;
      await plant(store, { 'f/a': '1', 'f/d/b': '2', x: 'x' });
      const claim = await createClaim(root, 'f/a', historyOf(join(ownFolder, 'versions'), file('f/a')));
      const replacing = store.write(file('f/a'), upload('replacement'), { keep: {} });
      await until('the replacement waits', async () => (await timesOpen(join(root, 'f'))) === 1);
      const change = run(disk);
      await until('the change waits', async () => (await timesOpen(join(root, 'f'))) === 2);
      renameSync(join(root, 'f'), join(root, 'g'));
      await rm(claim);
      const outcomes = await Promise.allSettled([replacing, change]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', outcome],
      );
      assert.deepEqual(await treeOf(store, 'g'), MOVED_TREE);
    });
  }
});
