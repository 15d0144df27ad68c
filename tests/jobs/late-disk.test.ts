import assert from 'node:assert/strict';
import { appendFile, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { removeTree } from '../../src/stores/disk/trees.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { file, folder, silentLog, treeOf, upload } from '../contract/bytes.ts';
import { A, TestJob, World } from './scenarios.ts';

async function open(t: TestContext) {
  const { store, root, ownFolder } = await openDisk({ root: await temporaryFolder(t), log: silentLog });
  atEnd(t, async () => store.close?.());
  const world = new World(store);
  await world.plant();
  await store.write(file('other/f/old'), upload('old'));
  const job = () => TestJob.create(() => world.jobOf({ action: 'delete folder', from: A, permanent: true }), world);
  /** Waits until the clock of the file system, which has steps of some milliseconds, has advanced. */
  const later = async () => {
    const { now = assert.fail() } = store;
    const time = await now();
    await until('the next step of the clock', async () => (await now()) > time);
  };
  return { store, root, ownFolder, world, job, later };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** What clients and other programs do after the request, and what the error then names. */
const CHANGES: Record<string, { readonly change: (opened: Opened) => Promise<unknown>; readonly named: string }> = {
  'a new file': { change: ({ store }) => store.write(file('a/new'), upload('new')), named: 'a/new' },
  'a new file in a subfolder': {
    change: ({ store }) => store.write(file('a/sub/new'), upload('new')),
    named: 'a/sub/new',
  },
  'a replaced file': { change: ({ store }) => store.write(file('a/x'), upload('newer'), { keep: {} }), named: 'a/x' },
  'a new folder': { change: ({ store }) => store.createFolder(folder('a/empty')), named: 'a/empty/' },
  'a file that was moved there': {
    change: async ({ store }) => store.move?.(file('other/f/old'), file('a/old'), { replace: false }),
    named: 'a/old',
  },
  'a folder that was moved there': {
    change: async ({ store }) => store.moveFolder?.(folder('other/f'), folder('a/f'), { replace: false }),
    named: 'a/f/',
  },
};

describe('A permanent delete of a folder on a disk, as a job that starts late', () => {
  for (const isResumed of [false, true]) {
    for (const [name, { change, named }] of Object.entries(CHANGES)) {
      it(`deletes nothing after ${name}${isResumed ? ', also in a later attempt' : ''}`, async (t) => {
        const opened = await open(t);
        const { store, ownFolder, world } = opened;
        const job = await opened.job();
        await opened.later();
        await change(opened);
        const before = await treeOf(store);
        await assert.rejects(job.run(world, { isResumed }), {
          code: 'job-outdated',
          message: `"${named}" arrived or changed after the request to delete its folder. Check it, and start the job again if necessary.`,
        });
        assert.deepEqual(await treeOf(store), before);
        assert.equal((await readdir(join(ownFolder, 'temporary'), { recursive: true })).length, 1);
        await (await opened.job()).run(world, { isResumed: false });
        assert.deepEqual(Object.keys(await treeOf(store, 'a/').catch(() => ({}))), []);
      });
    }
  }

  it('deletes everything that was there before the request', async (t) => {
    const { store, root, world, job, later } = await open(t);
    const created = await job();
    await later();
    // Other items change, and so does the folder itself.
    await store.write(file('other/new'), upload('new'));
    await store.moveFolder?.(folder('a'), folder('b'), { replace: false });
    await store.moveFolder?.(folder('b'), folder('a'), { replace: false });
    await created.run(world, { isResumed: false });
    assert.deepEqual((await readdir(root)).toSorted(), ['.holdall', 'other']);
  });

  it('leaves a file that another program has changed in place', async (t) => {
    const { store, root, world, job, later } = await open(t);
    const created = await job();
    await later();
    await appendFile(join(root, 'a/sub/y'), ' changed');
    await assert.rejects(created.run(world, { isResumed: false }), { code: 'job-outdated', message: /"a\/sub\/y"/ });
    assert.deepEqual(await treeOf(store, 'a/'), { 'a/sub/': null, 'a/sub/y': 'two changed' });
  });

  it('leaves what arrives after it has examined the folder', async (t) => {
    const { store, root, later } = await open(t);
    const { now = assert.fail() } = store;
    const before = await now();
    await later();
    await rename(join(root, 'other/f'), join(root, 'a/sub/f'));
    await assert.rejects(removeTree(join(root, 'a'), { path: A, before }), {
      code: 'job-outdated',
      message: /^"a\/sub\/f\/" arrived .* The rest of "a\/" was deleted\.$/,
    });
    assert.deepEqual(await treeOf(store, 'a/'), { 'a/sub/': null, 'a/sub/f/': null, 'a/sub/f/old': 'old' });
  });

  it('completes in a later attempt what an earlier one could not delete', async (t) => {
    const { store, root, world, job, later } = await open(t);
    const created = await job();
    await later();
    // An earlier attempt has deleted a part, and returned the rest.
    await store.removeTree?.(folder('a/sub'));
    await created.run(world, { isResumed: true });
    assert.deepEqual((await readdir(root)).toSorted(), ['.holdall', 'other']);
  });
});
