import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { expireKept } from '../../src/files/expiry.ts';
import { setKnownTime } from '../../src/model/clock.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { isFolder } from '../../src/model/path.ts';
import type { Store, TrashStore, VersionStore } from '../../src/model/store.ts';
import { bare, disk, memory } from '../contract/backend.ts';
import { file, folder, plant, textOf, upload } from '../contract/bytes.ts';

const MS_PER_DAY = 24 * 60 * 60_000;

const OFF = { trash: undefined, versions: undefined };

for (const backend of [memory, disk]) {
  describe(`The expiry of trash and versions: ${backend.name}`, () => {
    let store: Store & TrashStore & VersionStore;
    let close: () => Promise<void>;

    beforeEach(async () => {
      const opened = await backend.open();
      ({ close } = opened);
      store = opened.store as Store & TrashStore & VersionStore;
    });
    afterEach(() => close());

    const trash = async (path: string) =>
      store.moveToTrash(path.endsWith('/') ? folder(path) : file(path), { id: newKeptId() });
    const pathsInTrash = async () => (await store.listTrash()).items.map(({ path }) => path);
    const inDays = (days: number) => Date.now() + days * MS_PER_DAY;

    /** The store as if the items at these paths had been deleted so many days ago. */
    const withAges = (days: Readonly<Record<string, number>>): Store & TrashStore => ({
      ...store,
      async listTrash(options) {
        const page = await store.listTrash(options);
        const aged = ({ path }: { path: string }) => new Date(inDays(-(days[path] ?? 0)));
        return { ...page, items: page.items.map((item) => ({ ...item, deletedAt: aged(item) })) };
      },
    });

    it('removes items and versions that are older than the limit, and no others', async () => {
      await plant(store, { a: '1', 'f/b': '2', c: '3' });
      for (const path of ['a', 'f/', 'c']) await trash(path);
      const limits = { trash: { days: 30, maxBytes: undefined }, versions: { days: 30, maxBytes: undefined } };
      const aged = withAges({ a: 31, 'f/': 30.5, c: 29.5 });
      assert.deepEqual(await expireKept(aged, limits), { trashed: 2, versions: 0 });
      assert.deepEqual(await pathsInTrash(), ['c']);
      for (const text of ['old', 'new']) await store.write(file('v'), upload(text), { keep: {} });
      assert.deepEqual(await expireKept(store, limits, {}, inDays(29)), { trashed: 0, versions: 0 });
      assert.deepEqual(await expireKept(store, limits, {}, inDays(31)), { trashed: 1, versions: 1 });
      assert.deepEqual((await store.listVersions(file('v'))).versions, []);
      assert.equal(await textOf(store, 'v'), 'new');
    });

    it('removes the oldest items until the others fit, and measures folders', async () => {
      await plant(store, { a: '1234', 'f/b': '1234', 'f/g/c': '12', d: '123', e: '12' });
      for (const path of ['a', 'f/', 'd', 'e']) await trash(path);
      const limits = (maxBytes: number) => ({ trash: { days: 30, maxBytes }, versions: undefined });
      const progress: number[] = [];
      const options = { onProgress: ({ done }: { done: number }) => void progress.push(done) };
      assert.deepEqual(await expireKept(store, limits(15), options), { trashed: 0, versions: 0 });
      assert.deepEqual(await expireKept(store, limits(14), options), { trashed: 1, versions: 0 });
      assert.deepEqual(await pathsInTrash(), ['e', 'd', 'f/']);
      assert.deepEqual(await expireKept(store, limits(5), options), { trashed: 1, versions: 0 });
      assert.deepEqual(await pathsInTrash(), ['e', 'd']);
      assert.deepEqual(await expireKept(store, limits(0), options), { trashed: 2, versions: 0 });
      assert.deepEqual(await pathsInTrash(), []);
      assert.deepEqual(progress, [1, 1, 1, 2]);
    });

    it('keeps what was recorded while the clock was decades behind', async (t) => {
      const limits = { trash: { days: 30, maxBytes: undefined }, versions: { days: 30, maxBytes: undefined } };
      const now = Date.now();
      setKnownTime(0);
      t.mock.timers.enable({ apis: ['Date'], now: new Date('1986-01-01') });
      const keepOne = async (path: string) => {
        for (const text of ['old', 'new']) await store.write(file(path), upload(text), { keep: {} });
        await plant(store, { [`${path}-deleted`]: '1' });
        await trash(`${path}-deleted`);
      };
      await keepOne('without-known-time');
      setKnownTime(now);
      await keepOne('with-known-time');
      t.mock.timers.reset();
      assert.deepEqual(await expireKept(store, limits), { trashed: 0, versions: 0 });
      assert.deepEqual(await expireKept(store, limits, {}, inDays(31)), { trashed: 1, versions: 1 });
      assert.deepEqual(await pathsInTrash(), ['without-known-time-deleted']);
    });

    it('removes nothing while the trash and the versions are off', async () => {
      await plant(store, { a: '1' });
      await trash('a');
      assert.deepEqual(await expireKept(store, OFF, {}, inDays(100)), { trashed: 0, versions: 0 });
      assert.deepEqual(await pathsInTrash(), ['a']);
    });

    it('continues after an interruption', async () => {
      await plant(store, { a: '1', b: '2', c: '3' });
      for (const path of ['a', 'b', 'c']) await trash(path);
      const limits = { trash: { days: 1, maxBytes: undefined }, versions: undefined };
      const interruption = new AbortController();
      const options = { signal: interruption.signal, onProgress: () => interruption.abort(new Error('stopped')) };
      await assert.rejects(expireKept(store, limits, options, inDays(2)), /stopped/);
      assert.deepEqual(await pathsInTrash(), ['b', 'a']);
      assert.deepEqual(await expireKept(store, limits, {}, inDays(2)), { trashed: 2, versions: 0 });
    });

    it('can run several times at once, while users restore items', async () => {
      const names = Array.from({ length: 20 }, (_, index) => `f/${index}`);
      await plant(store, Object.fromEntries(names.map((name) => [name, name])));
      const items = await Promise.all(names.map(trash));
      const limits = { trash: { days: 1, maxBytes: 10 }, versions: undefined };
      const restored = items.filter((_, index) => index % 3 === 0);
      const runs = await Promise.all([
        ...Array.from({ length: 3 }, () => expireKept(store, limits, {}, inDays(2))),
        ...restored.map(({ id, path }) =>
          store.restoreTrashed(id, path).then(
            () => path,
            () => undefined,
          ),
        ),
      ]);
      const removed = runs.reduce((sum: number, run) => sum + (typeof run === 'object' ? run.trashed : 0), 0);
      const returned = runs.filter((run) => typeof run === 'string');
      assert.deepEqual([await pathsInTrash(), removed + returned.length], [[], 20]);
      for (const path of returned) {
        assert.ok(!isFolder(path));
        assert.equal(await textOf(store, path), path);
      }
    });
  });
}

describe('The expiry of a store that keeps nothing', () => {
  it('does nothing', async () => {
    const { store } = await bare.open();
    const limits = { days: 1, maxBytes: 0 };
    assert.deepEqual(await expireKept(store, { trash: limits, versions: limits }), { trashed: 0, versions: 0 });
  });
});
