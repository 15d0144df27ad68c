import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { createTrashOperations } from '../../src/files/trash.ts';
import { type KeptId, newKeptId } from '../../src/model/kept-ids.ts';
import { pageOfIds } from '../../src/model/page.ts';
import { parseFile, parseFolder } from '../../src/model/path.ts';
import type { Store, TrashedItem } from '../../src/model/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { tries } from '../seeds.ts';

/** A store whose trash has one item of each path. Items can be removed between two pages. */
function storeWithTrash(paths: readonly string[]): { readonly store: Store; readonly items: Map<KeptId, TrashedItem> } {
  const items = new Map(
    paths.map((path) => {
      const id = newKeptId();
      return [id, { id, path: parseFile(path), deletedAt: new Date() }] as const;
    }),
  );
  const store: Store = {
    ...createMemoryStore(),
    async listTrash(options = {}) {
      const { ids, cursor } = pageOfIds([...items.keys()].toSorted(), options);
      const found = ids.map((id) => items.get(id)).filter((item) => item !== undefined);
      return { items: found, ...(cursor !== undefined && { cursor }) };
    },
  };
  return { store, items };
}

const isShown = (path: string) => path.startsWith('shown/');

describe('A filtered list of the trash', () => {
  const page = fc.record({
    shown: fc.array(fc.boolean(), { maxLength: 60 }),
    limit: fc.integer({ min: 1, max: 9 }),
    removed: fc.array(fc.nat(59), { maxLength: 5 }),
  });

  it('has exactly the selected items in order, whatever is removed between two pages', async (t) => {
    await fc.assert(
      fc.asyncProperty(page, async ({ shown, limit, removed }) => {
        const paths = shown.map((each, index) => `${each ? 'shown' : 'hidden'}/${index}`);
        const { store, items } = storeWithTrash(paths);
        const trash = createTrashOperations(store);
        const gone = new Set<string>();
        const found: string[] = [];
        const expected = paths.filter((path) => path.startsWith('shown/')).toReversed();
        let cursor: string | undefined;
        for (let turn = 0; ; turn++) {
          const listed = await trash.listTrash({ isShown, limit, cursor });
          assert.ok(listed.items.length <= limit);
          found.push(...listed.items.map(({ path }) => path));
          ({ cursor } = listed);
          if (cursor === undefined) break;
          assert.equal(cursor, listed.items.at(-1)?.id);
          const victim = [...items.values()][removed[turn] ?? paths.length];
          if (victim) items.delete(victim.id);
          if (victim && !found.includes(victim.path)) gone.add(victim.path);
        }
        assert.deepEqual(
          found,
          expected.filter((path) => !gone.has(path)),
        );
      }),
      tries(t, 200),
    );
  });

  it('depends only on the selected items, also for a cursor that a client made up', async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { maxLength: 30 }),
        fc.integer({ min: 1, max: 4 }),
        async (shown, limit) => {
          const paths = shown.map((each, index) => `${each ? 'shown' : 'hidden'}/${index}`);
          const { store, items } = storeWithTrash(paths);
          const expected = paths.filter(isShown).toReversed();
          const positions = [...items.values()].toReversed();
          for (const { id: cursor } of positions) {
            const listed = await createTrashOperations(store).listTrash({ isShown, limit, cursor });
            const after = expected.filter(
              (path) =>
                positions.findIndex((item) => item.path === path) > positions.findIndex(({ id }) => id === cursor),
            );
            assert.deepEqual(
              listed.items.map(({ path }) => path),
              after.slice(0, limit),
            );
            assert.equal(listed.cursor, after.length > limit ? listed.items.at(-1)?.id : undefined);
          }
        },
      ),
      tries(t, 200),
    );
  });

  it('ends each page with a selected item among many hidden ones', async () => {
    const count = 21_000;
    const paths = Array.from({ length: count }, (_, index) => `${index % 5000 === 0 ? 'shown' : 'hidden'}/${index}`);
    const trash = createTrashOperations(storeWithTrash(paths).store);
    for (const limit of [1, 2, 3, 4, 5, 6]) {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const listed = await trash.listTrash({ isShown, limit, cursor });
        found.push(...listed.items.map(({ path }) => path));
        ({ cursor } = listed);
        if (cursor !== undefined) assert.equal(cursor, listed.items.at(-1)?.id);
      } while (cursor !== undefined);
      assert.deepEqual(
        found,
        [20_000, 15_000, 10_000, 5000, 0].map((index) => `shown/${index}`),
        String(limit),
      );
    }
  });

  it('selects a folder by whole names', async () => {
    const { store } = storeWithTrash(['a/1', 'ab/2', 'a/b/3', 'a']);
    const { items } = await createTrashOperations(store).listTrash({ folder: parseFolder('a') });
    assert.deepEqual(
      items.map(({ path }) => path),
      ['a/b/3', 'a/1'],
    );
  });
});
