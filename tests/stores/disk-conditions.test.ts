import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { historyOf } from '../../src/stores/disk/version-names.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { file, folder, ofKind, silentLog, textOf, upload } from '../contract/bytes.ts';

/** Opens one folder several times, as several processes do: the stores share nothing in memory. */
async function openSeveral(t: TestContext, count: number) {
  const root = await temporaryFolder(t);
  const disks = [];
  for (let index = 0; index < count; index++) {
    const { store, ownFolder } = await openDisk({ root, log: silentLog });
    atEnd(t, () => store.close?.());
    disks.push({ store, ownFolder });
  }
  const [first] = disks;
  assert.ok(first);
  return { stores: disks.map(({ store }) => store), store: first.store, ownFolder: first.ownFolder };
}

const ROUNDS = 25;

describe('Changes of a file on a disk on the condition of its ETag', { concurrency: true }, () => {
  for (const keep of [undefined, {}]) {
    const name = keep ? 'with versions' : 'without versions';

    it(`exclude each other in several processes, ${name}`, async (t) => {
      const { stores, store } = await openSeveral(t, 3);
      let { etag } = await store.write(file('f/a'), upload('start'));
      const winners = ['start'];
      for (let round = 0; round < ROUNDS; round++) {
        const texts = Array.from({ length: 9 }, (_, writer) => `round ${round}, writer ${writer}`);
        const outcomes = await Promise.allSettled(
          texts.map(async (text, writer) =>
            stores[writer % 3]?.write(file('f/a'), upload(text), { condition: { etag }, ...(keep && { keep }) }),
          ),
        );
        const succeeded = texts.filter((_, writer) => outcomes[writer]?.status === 'fulfilled');
        for (const outcome of outcomes)
          if (outcome.status === 'rejected') assert.ok(isStoreError(outcome.reason, 'condition-failed'));
        assert.equal(succeeded.length, 1, succeeded.join('; '));
        assert.equal(await textOf(store, 'f/a'), succeeded[0]);
        winners.push(...succeeded);
        ({ etag } = await store.stat(file('f/a')));
      }
      // No content was lost: each one that was replaced is a version.
      const { versions } = await store.listVersions(file('f/a'));
      const contents = versions.map(async ({ id }) => (await store.readVersion(file('f/a'), id)).bytes?.toString());
      assert.deepEqual((await Promise.all(contents)).toReversed(), keep ? winners.slice(0, -1) : []);
    });
  }

  it('exclude deletes, also into the trash', async (t) => {
    const { stores, store } = await openSeveral(t, 3);
    for (let round = 0; round < ROUNDS; round++) {
      const { etag } = await store.write(file('a'), upload('old'));
      const [one, two, three] = stores;
      const outcomes = await Promise.allSettled([
        one?.write(file('a'), upload('new'), { condition: { etag } }),
        two?.remove(file('a'), { ifMatch: etag }),
        three?.moveToTrash(file('a'), { id: newKeptId(), ifMatch: etag }),
      ]);
      const [written, ...taken] = outcomes.map(({ status }) => status === 'fulfilled');
      assert.equal([written, ...taken].filter(Boolean).length, 1, JSON.stringify(outcomes));
      if (written) assert.equal(await textOf(store, 'a'), 'new');
      else await assert.rejects(store.stat(file('a')), ofKind('not-found'));
    }
  });

  it('never follow a write without a condition of the same process', async (t) => {
    const { store } = await openSeveral(t, 1);
    for (let round = 0; round < ROUNDS; round++) {
      const { etag } = await store.write(file('a'), upload('old'));
      const plain = store.write(file('a'), upload('plain'));
      const conditional = store.write(file('a'), upload('conditional'), { condition: { etag } });
      const [, outcome] = await Promise.allSettled([plain, conditional]);
      // The conditional write failed, or the other one replaced its content.
      assert.equal(await textOf(store, 'a'), 'plain', outcome.status);
    }
  });

  it('leave no files of their own behind, and create no folder', async (t) => {
    const { store, ownFolder } = await openSeveral(t, 1);
    const { etag } = await store.write(file('f/a'), upload('one'));
    await store.write(file('f/a'), upload('two'), { condition: { etag } });
    const history = historyOf(join(ownFolder, 'versions'), file('f/a'));
    await assert.rejects(readdir(history), { code: 'ENOENT' });
    const missing = store.write(file('g/h/a'), upload('x'), { condition: { etag } });
    await assert.rejects(missing, ofKind('condition-failed'));
    await assert.rejects(store.list(folder('g'), {}), ofKind('not-found'));
  });
});
