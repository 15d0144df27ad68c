import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFolderOperations } from '../../src/files/folder-operations.ts';
import type { Store } from '../../src/model/store.ts';
import { notFound } from '../../src/model/store-errors.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { file, folder, ofKind, plant, treeOf } from '../contract/bytes.ts';

const SOURCE = { 'a/': null, 'a/x': 'one', 'a/y': 'two' };
const DESTINATION = { 'b/': null, 'b/old': 'old', 'b/y': 'older' };

/** Opens a store without native folder operations, with the members of `faults` replaced. */
async function openFaulty(faults: (store: Store) => Partial<Store>) {
  const { copyFolder: _, moveFolder: __, removeTree: ___, ...store } = createMemoryStore();
  await plant(store, { ...SOURCE, ...DESTINATION });
  return { store, folders: createFolderOperations({ ...store, ...faults(store) }) };
}

describe('The fallback for folder operations', () => {
  for (const operation of ['copyFolder', 'moveFolder'] as const) {
    it(`${operation} removes nothing if the store returns not-found for an existing source`, async () => {
      const { store, folders } = await openFaulty(({ copy }) => ({
        copy: async (from, to, options) => {
          if (from === 'a/y' || !copy) throw notFound(from);
          return copy(from, to, options);
        },
      }));
      const calling = folders[operation](folder('a'), folder('b'), { replace: true });
      await assert.rejects(calling, ofKind('unsupported'));
      assert.deepEqual(await treeOf(store), { ...SOURCE, ...DESTINATION, 'b/x': 'one' });
    });

    it(`${operation} removes nothing if a copy is not listed`, async () => {
      const { store, folders } = await openFaulty(({ list }) => ({
        list: async (path, options) => {
          const page = await list(path, options);
          return { ...page, entries: page.entries.filter((entry) => entry.path !== 'b/x') };
        },
      }));
      const calling = folders[operation](folder('a'), folder('b'), { replace: true });
      await assert.rejects(calling, ofKind('unavailable'));
      assert.deepEqual(await treeOf(store), { ...SOURCE, ...DESTINATION, 'b/x': 'one', 'b/y': 'two' });
    });

    it(`${operation} removes no destination file whose source exists but is not listed`, async () => {
      const { store, folders } = await openFaulty(({ list }) => ({
        list: async (path, options) => {
          const page = await list(path, options);
          return { ...page, entries: page.entries.filter((entry) => entry.path !== 'a/y') };
        },
      }));
      const calling = folders[operation](folder('a'), folder('b'), { replace: true });
      await assert.rejects(calling, ofKind('unavailable'));
      assert.deepEqual(await treeOf(store), { ...SOURCE, ...DESTINATION, 'b/x': 'one' });
    });

    it(`${operation} skips a file that another client deletes during the operation`, async () => {
      const { store, folders } = await openFaulty(({ copy, remove }) => ({
        copy: async (from, to, options) => {
          if (from === 'a/y') await remove(file(from));
          assert.ok(copy);
          return copy(from, to, options);
        },
      }));
      await folders[operation](folder('a'), folder('c'), { replace: false });
      assert.deepEqual(await treeOf(store, 'c/'), { 'c/x': 'one' });
    });
  }
});
