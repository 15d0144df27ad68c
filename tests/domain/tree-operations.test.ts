import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFolderOperations } from '../../src/domain/folder-operations.ts';
import { notFound } from '../../src/domain/problems.ts';
import type { Store } from '../../src/domain/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { file, folder, ofKind, plant, treeOf } from '../contract/bytes.ts';

const SOURCE = { 'a/': null, 'a/x': 'one', 'a/y': 'two' };
const DESTINATION = { 'b/': null, 'b/old': 'old', 'b/y': 'older' };

/** A store whose folder operations are composed of single files, and which fails as `faults` say. */
async function openFaulty(faults: (store: Store) => Partial<Store>) {
  const { copyFolder: _, moveFolder: __, removeTree: ___, ...store } = createMemoryStore();
  await plant(store, { ...SOURCE, ...DESTINATION });
  return { store, folders: createFolderOperations({ ...store, ...faults(store) }) };
}

describe('A folder operation composed of single files', () => {
  for (const operation of ['copyFolder', 'moveFolder'] as const) {
    it(`${operation} removes nothing where the store says that a source is gone, and it is not`, async () => {
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

    it(`${operation} removes nothing where a copy is not listed`, async () => {
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

    it(`${operation} removes nothing that the source has, though no listing shows it`, async () => {
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

    it(`${operation} skips a file that another client deletes meanwhile`, async () => {
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
