import type { ItemTree } from '../../files/item-tree.ts';
import { type FolderPath, isWithin } from '../../model/path.ts';
import { alreadyExists, notFound } from '../../model/store-errors.ts';
import type { ListedObject } from './operations.ts';

/**
 * Returns the tree for a change of the folder `from` that was requested before a time. Objects that arrived in it later are
 * not listed, so they are neither moved nor removed. Objects that arrived elsewhere later are neither replaced nor removed:
 * those that differ from their source are `already-exists`.
 */
export function boundedTree(
  tree: ItemTree<ListedObject>,
  from: FolderPath,
  before: Date | undefined,
): ItemTree<ListedObject> {
  if (before === undefined) return tree;
  const isEarlier = ({ modified }: ListedObject) => modified !== undefined && modified < before;
  const select = (folder: FolderPath, objects: AsyncIterable<ListedObject>) =>
    isWithin(folder, from) ? earlier(objects, isEarlier) : objects;
  return {
    ...tree,
    async requireFolder(folder, options) {
      await tree.requireFolder(folder, options);
      if (!isWithin(folder, from)) return;
      for await (const _ of select(folder, tree.walk(folder, options))) return;
      throw notFound(folder);
    },
    walk: (folder, options) => select(folder, tree.walk(folder, options)),
    walkStrictly: (folder, options) =>
      select(folder, tree.walkStrictly?.(folder, options) ?? tree.walk(folder, options)),
    walkForComparison: (folder, options) =>
      select(folder, tree.walkForComparison?.(folder, options) ?? tree.walk(folder, options)),
    walkInAnyOrder: (folder, options) =>
      select(folder, tree.walkInAnyOrder?.(folder, options) ?? tree.walk(folder, options)),
    async copy(source, folders, options) {
      const { present, to } = folders;
      if (present && !isEarlier(present)) throw alreadyExists(to);
      await tree.copy(source, folders, options);
    },
    remove: (objects, options) => tree.remove(earlier(objects, isEarlier), options),
  };
}

async function* earlier(
  objects: AsyncIterable<ListedObject>,
  isEarlier: (object: ListedObject) => boolean,
): AsyncGenerator<ListedObject> {
  for await (const object of objects) if (isEarlier(object)) yield object;
}
