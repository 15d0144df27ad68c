import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe } from 'node:test';
import { type KeptId, newKeptId } from '../../src/model/kept-ids.ts';
import { type FilePath, type FolderPath, isFolder, MAX_KEY_BYTES } from '../../src/model/path.ts';
import type { Capability, Store, TrashedItem, TrashStore } from '../../src/model/store.ts';
import { type Backend, emptied, has, type Trait, testsOf } from './backend.ts';
import { file, folder, longPath, ofKind, plant, textOf, treeOf, upload, writeAll } from './bytes.ts';

/** Ids that no store has issued: well-formed ones, and ones that would name other files if they were part of a path. */
const FOREIGN_IDS = [newKeptId(), 'a', '_', '~', `${newKeptId()}.json`, 'x'.repeat(300)] as KeptId[];

/** Tests the members of `TrashStore`. */
export function trashContract(backend: Backend): void {
  describe(`The contract of the trash: ${backend.name}`, { concurrency: 1 }, () => {
    let store: Store & TrashStore;
    let close: () => Promise<void>;

    beforeEach(async () => {
      const opened = await backend.open();
      ({ close } = opened);
      store = opened.store as Store & TrashStore;
    });
    afterEach(() => close());

    /** Defines a test, on stores that have the members and traits that it needs. */
    const test = (rule: string, body: () => Promise<void>, ...needed: readonly (Capability | Trait)[]) =>
      testsOf(backend)(needed, rule, body);

    const trashed = (path: FilePath | FolderPath, user?: string) => store.moveToTrash(path, { id: newKeptId(), user });

    const items = async (limit?: number): Promise<TrashedItem[]> => {
      const found: TrashedItem[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.listTrash({ ...(limit !== undefined && { limit }), ...(cursor && { cursor }) });
        found.push(...page.items);
        cursor = page.cursor;
      } while (cursor !== undefined);
      return found;
    };
    const pathsInTrash = async (limit?: number) => (await items(limit)).map(({ path }) => path);

    test('is empty at first', async () => {
      assert.deepEqual(await items(), []);
    });

    test('takes a file and returns it with the same bytes and time', async () => {
      const time = new Date('2014-07-18T05:01:32.123Z');
      const written = await store.write(file('f/g/a.txt'), { ...upload('text'), modified: () => time });
      const { id } = await trashed(file('f/g/a.txt'), 'ann');
      assert.deepEqual(await treeOf(store), emptied(backend, { 'f/': null, 'f/g/': null }, 'f/', 'f/g/'));
      await store.restoreTrashed(id, file('f/g/a.txt'));
      assert.deepEqual(await treeOf(store), { 'f/': null, 'f/g/': null, 'f/g/a.txt': 'text' });
      if (!backend.lacks['kept-times']) {
        assert.deepEqual((await store.stat(written.path)).modified, time);
      }
      assert.deepEqual(await items(), []);
    });

    test('takes a folder with everything in it, and no neighbour', async () => {
      const neighbours = { 'a.txt': 'n', 'ab/': null, 'ab/c': 'n' };
      const tree = { 'a/': null, 'a/b': '1', 'a/empty/': null, 'a/f/': null, 'a/f/c': '2' };
      await plant(store, { ...tree, ...neighbours });
      const { id } = await trashed(folder('a'));
      assert.deepEqual(await treeOf(store), neighbours);
      await store.restoreTrashed(id, folder('a'));
      assert.deepEqual(await treeOf(store), { ...tree, ...neighbours });
    });

    test('takes an empty folder', async () => {
      await plant(store, { 'x/a/': null, 'x/b': 'x' });
      const { id } = await trashed(folder('x/a'));
      assert.deepEqual(await treeOf(store), { 'x/': null, 'x/b': 'x' });
      await store.restoreTrashed(id, folder('x/a'));
      assert.deepEqual(await treeOf(store), { 'x/': null, 'x/a/': null, 'x/b': 'x' });
    });

    test('records the path, the time, the user and the size of a file', async () => {
      await plant(store, { 'ä b/%25 #?.txt': 'twelve bytes', 'f/a': 'x' });
      const started = Date.now();
      const moved = await trashed(file('ä b/%25 #?.txt'), 'änn "x"/..');
      const anonymous = await trashed(folder('f'));
      assert.deepEqual(await store.findTrashed(moved.id), moved);
      const { path, user, size, deletedAt } = moved;
      assert.deepEqual({ path, user, size }, { path: 'ä b/%25 #?.txt', user: 'änn "x"/..', size: 12 });
      // Stores can record seconds.
      assert.ok(Math.abs(deletedAt.getTime() - started) < 60_000, deletedAt.toISOString());
      assert.ok(!('user' in anonymous));
      assert.equal(anonymous.path, 'f/');
    });

    test('lists the newest items first, in pages that removals do not shift', async () => {
      const names = Array.from({ length: 7 }, (_, number) => `file ${number}`);
      await writeAll(store, Object.fromEntries(names.map((name) => [name, name])));
      for (const name of names) await trashed(file(name));
      const newestFirst = names.toReversed();
      assert.deepEqual(await pathsInTrash(), newestFirst);
      assert.deepEqual(await pathsInTrash(2), newestFirst);
      const first = await store.listTrash({ limit: 3 });
      for (const { id, path } of first.items) await store.restoreTrashed(id, path);
      assert.ok(first.cursor !== undefined);
      const rest = await store.listTrash({ cursor: first.cursor });
      assert.deepEqual(
        rest.items.map(({ path }) => path),
        newestFirst.slice(3),
      );
      const [item] = rest.items;
      const isSelected = (path: string) => !path.endsWith('2');
      // The second time, the store can know the paths.
      for (let turn = 0; turn < 2; turn++) {
        const after = await store.listTrash({ cursor: item?.id, isSelected });
        assert.deepEqual(
          after.items.map(({ path }) => path).filter(isSelected),
          newestFirst.slice(4).filter(isSelected),
        );
      }
      await assert.rejects(store.listTrash({ cursor: '../x' }), ofKind('invalid-request'));
    });

    test('holds several items of one path', async () => {
      const ids: KeptId[] = [];
      for (const text of ['first', 'second']) {
        await store.write(file('a'), upload(text));
        ids.push((await trashed(file('a'))).id);
      }
      assert.deepEqual(await pathsInTrash(), ['a', 'a']);
      const [first, second] = ids;
      assert.ok(first && second);
      await store.restoreTrashed(first, file('a'));
      await store.restoreTrashed(second, file('b'));
      assert.deepEqual(await treeOf(store), { a: 'first', b: 'second' });
    });

    test('is not-found for a missing path and one of the other kind, and changes nothing', async () => {
      await plant(store, { 'f/a': 'x', b: 'y' });
      const before = await treeOf(store);
      for (const path of [file('c'), folder('c'), file('f'), folder('b'), file('f/c'), folder('f/a')]) {
        await assert.rejects(trashed(path), ofKind('not-found'), path);
      }
      assert.deepEqual(await treeOf(store), before);
      assert.deepEqual(await items(), []);
    });

    test('leaves a file that lacks the expected ETag', async () => {
      const { etag } = await store.write(file('a'), upload('old'));
      await store.write(file('a'), upload('new'));
      await assert.rejects(
        store.moveToTrash(file('a'), { id: newKeptId(), ifMatch: etag }),
        ofKind('condition-failed'),
      );
      assert.deepEqual([await treeOf(store), await items()], [{ a: 'new' }, []]);
      const current = await store.stat(file('a'));
      await store.moveToTrash(file('a'), { id: newKeptId(), ifMatch: current.etag });
      assert.deepEqual([await treeOf(store), await pathsInTrash()], [{}, ['a']]);
    });

    test('changes nothing when it is cancelled before it starts', async () => {
      await plant(store, { 'f/a': 'x' });
      const before = await treeOf(store);
      const signal = AbortSignal.abort(new Error('left'));
      await assert.rejects(store.moveToTrash(folder('f'), { id: newKeptId(), signal }), /left/);
      assert.deepEqual([await treeOf(store), await items()], [before, []]);
      const { id } = await trashed(folder('f'));
      await assert.rejects(store.restoreTrashed(id, folder('f'), { signal }), /left/);
      assert.deepEqual(await pathsInTrash(), ['f/']);
    });

    test('restores to another path and creates its parents', async () => {
      await plant(store, { a: '1', 'f/b': '2' });
      const ids = [(await trashed(file('a'))).id, (await trashed(folder('f'))).id] as const;
      await store.restoreTrashed(ids[0], file('x/y/A'));
      await store.restoreTrashed(ids[1], folder('x/z/F'));
      const expected = { 'x/': null, 'x/y/': null, 'x/y/A': '1', 'x/z/': null, 'x/z/F/': null, 'x/z/F/b': '2' };
      assert.deepEqual([await treeOf(store), await items()], [expected, []]);
    });

    test('replaces nothing when it restores', async () => {
      await plant(store, { a: 'old', 'f/b': 'old', 'e/': null });
      const ids = [(await trashed(file('a'))).id, (await trashed(folder('f'))).id, (await trashed(folder('e'))).id];
      await plant(store, { a: 'new', 'f/c': 'new', 'e/': null });
      const before = await treeOf(store);
      const [a, f, e] = ids;
      assert.ok(a && f && e);
      await assert.rejects(store.restoreTrashed(a, file('a')), ofKind('already-exists'));
      await assert.rejects(store.restoreTrashed(f, folder('f')), ofKind('already-exists'));
      await assert.rejects(store.restoreTrashed(e, folder('e')), ofKind('already-exists'));
      assert.deepEqual([await treeOf(store), await pathsInTrash()], [before, ['e/', 'f/', 'a']]);
    });

    test(
      'restores nothing below a file or over the other kind',
      async () => {
        await plant(store, { a: '1', 'f/b': '2' });
        const [a, f] = [(await trashed(file('a'))).id, (await trashed(folder('f'))).id];
        await plant(store, { 'a/': null, f: 'file', g: 'file' });
        const before = await treeOf(store);
        for (const path of ['a', 'g/a']) {
          await assert.rejects(store.restoreTrashed(a, file(path)), ofKind('wrong-kind'), path);
        }
        for (const path of ['f', 'g/f']) {
          await assert.rejects(store.restoreTrashed(f, folder(path)), ofKind('wrong-kind'), path);
        }
        assert.deepEqual([await treeOf(store), await pathsInTrash()], [before, ['f/', 'a']]);
      },
      'one-kind-per-name',
    );

    test('refuses a restore that would make a path too long, and changes nothing', async () => {
      const deep = longPath('a', (store.maxPathBytes?.() ?? MAX_KEY_BYTES) - 200);
      await store.write(file(deep), upload('deep'));
      const { id } = await trashed(folder('a'));
      await assert.rejects(store.restoreTrashed(id, folder('b'.repeat(230))), ofKind('invalid-path'));
      assert.deepEqual(await treeOf(store), {});
      await store.restoreTrashed(id, folder('a'));
      assert.equal(await textOf(store, deep), 'deep');
    });

    test('is not-found for ids that it did not issue', async () => {
      await plant(store, { a: 'x' });
      await trashed(file('a'));
      for (const id of FOREIGN_IDS) {
        await assert.rejects(store.findTrashed(id), ofKind('not-found'), id);
        await assert.rejects(store.measureTrashed(id), ofKind('not-found'), id);
        await assert.rejects(store.restoreTrashed(id, file('b')), ofKind('not-found'), id);
        if (has(backend, 'purgeTrashed')) {
          await assert.rejects(async () => store.purgeTrashed?.(id), ofKind('not-found'), id);
        }
      }
      assert.deepEqual([await treeOf(store), await pathsInTrash()], [{}, ['a']]);
    });

    test('measures files and folders', async () => {
      await plant(store, { a: 'four', 'f/b': 'five5', 'f/g/c': 'sixsix', 'e/': null });
      const sizes: number[] = [];
      for (const path of [file('a'), folder('f'), folder('e')]) {
        const { id } = await trashed(path);
        sizes.push(await store.measureTrashed(id));
        assert.equal((await store.findTrashed(id)).size, sizes.at(-1));
      }
      assert.deepEqual(sizes, [4, 11, 0]);
    });

    test('lets one of several deletes of one path succeed', async () => {
      await plant(store, { a: 'x', 'f/b': 'y', 'f/g/c': 'z' });
      for (const path of [file('a'), folder('f')]) {
        const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => trashed(path)));
        assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, path);
      }
      assert.deepEqual([await treeOf(store), await pathsInTrash()], [{}, ['f/', 'a']]);
      for (const { id, path } of await items()) await store.restoreTrashed(id, path);
      assert.deepEqual(await treeOf(store), { a: 'x', 'f/': null, 'f/b': 'y', 'f/g/': null, 'f/g/c': 'z' });
    });

    test('lets one of several restores of one item succeed', async () => {
      await plant(store, { a: 'x', 'f/b': 'y' });
      for (const path of [file('a'), folder('f')]) {
        const { id } = await trashed(path);
        const restores = Array.from({ length: 6 }, (_, number) => {
          const to = `copy ${number} of ${path}`;
          return store.restoreTrashed(id, isFolder(path) ? folder(to) : file(to));
        });
        const outcomes = await Promise.allSettled(restores);
        const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
        assert.equal(failures.length, 5, path);
        for (const failure of failures) assert.equal(failure.kind, 'not-found');
      }
      const texts = Object.values(await treeOf(store)).filter((text) => text !== null);
      assert.deepEqual([texts.toSorted(), await items()], [['x', 'y'], []]);
    });

    test('loses no file that is written during a delete', async () => {
      for (let round = 0; round < 5; round++) {
        await store.write(file('a'), upload('old'));
        const outcomes = await Promise.allSettled([trashed(file('a')), store.write(file('a'), upload('new'))]);
        assert.deepEqual(
          outcomes.map(({ status }) => status),
          ['fulfilled', 'fulfilled'],
        );
        // Without `keep`, a write that precedes the delete replaces the old content.
        const present = (await treeOf(store))['a'];
        const [newest] = await items();
        assert.ok(newest);
        await store.restoreTrashed(newest.id, file(`b${round}`));
        const deleted = await textOf(store, `b${round}`);
        assert.ok(present === 'new' ? deleted === 'old' : deleted === 'new', `${present}, ${deleted}`);
        if (present !== undefined) await store.remove(file('a'));
      }
    });

    test(
      'removes an item permanently',
      async () => {
        await plant(store, { a: 'x', 'f/b': 'y', 'f/g/c': 'z', c: 'x' });
        const purged = [(await trashed(file('a'))).id, (await trashed(folder('f'))).id];
        const { id: remaining } = await trashed(file('c'));
        for (const id of purged) {
          await store.purgeTrashed?.(id);
          await assert.rejects(store.findTrashed(id), ofKind('not-found'));
          await assert.rejects(store.restoreTrashed(id, file('a')), ofKind('not-found'));
        }
        assert.deepEqual(
          (await items()).map(({ id }) => id),
          [remaining],
        );
        assert.deepEqual(await treeOf(store), {});
      },
      'purgeTrashed',
    );

    for (const name of ['copyFolder', 'moveFolder'] as const) {
      test(
        `receives a folder that ${name} replaces, only if it is kept`,
        async () => {
          const replace = store[name] ?? assert.fail();
          await plant(store, { 'a/b': 'new', 'z/old': 'old', 'z/f/c': 'old' });
          const kept: KeptId[] = [];
          const keep = { user: 'ann', onKept: (id: KeptId) => void kept.push(id) };
          await replace(folder('a'), folder('y'), { replace: true, keep });
          assert.deepEqual([kept, await items()], [[], []], 'Nothing was replaced.');
          if (name === 'moveFolder') await plant(store, { 'a/b': 'new' });
          await replace(folder('a'), folder('z'), { replace: true, keep });
          const [item, ...others] = await items();
          assert.ok(item);
          assert.deepEqual([item.path, item.user, others, kept], ['z/', 'ann', [], [item.id]]);
          assert.deepEqual(await treeOf(store, 'z/'), { 'z/b': 'new' });
          await store.restoreTrashed(item.id, folder('x'));
          assert.deepEqual(await treeOf(store, 'x/'), { 'x/f/': null, 'x/f/c': 'old', 'x/old': 'old' });
          await replace(folder('z'), folder('y'), { replace: true });
          assert.deepEqual(await items(), []);
        },
        name,
      );
    }
  });
}
