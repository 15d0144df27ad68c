import { FolderTransfer } from '../../files/folder-transfer.ts';
import type { ItemTree } from '../../files/item-tree.ts';
import { TreeComparison } from '../../files/tree-comparison.ts';
import type { FolderPath } from '../../model/path.ts';
import type { Cancellable, Reporting } from '../../model/store.ts';
import type { ListedObject } from './operations.ts';

export interface TreeMoveOptions extends Reporting, Cancellable {
  /** Stops the removal of the sources, which `signal` does not. */
  readonly removalSignal: AbortSignal;
}

/**
 * Moves a folder like `Store.moveFolder`, and replaces nothing. If it fails or is cancelled before
 * it removes the first source, it removes the copies that it made. No other process may move the folder meanwhile: it
 * might already remove sources whose copies are removed here.
 */
export async function moveTree(
  tree: ItemTree<ListedObject>,
  from: FolderPath,
  to: FolderPath,
  { onProgress, signal, removalSignal }: TreeMoveOptions,
): Promise<void> {
  const copied = new Set<string>();
  let isRemoving = false;
  const observed: ItemTree<ListedObject> = {
    ...tree,
    async copy(source, folders, options) {
      await tree.copy(source, folders, options);
      copied.add(tree.relativePath(source, from));
    },
    remove(items, options) {
      isRemoving = true;
      return tree.remove(items, { ...options, signal: removalSignal });
    },
  };
  const options = { replace: false, onProgress, signal };
  try {
    await new FolderTransfer(observed, from, to, options).move();
  } catch (error) {
    if (!isRemoving) await removeCopies(tree, { from, to, copied }, removalSignal);
    throw error;
  }
}

/** Removes the copies of objects that are still at their source. */
async function removeCopies(
  tree: ItemTree<ListedObject>,
  { from, to, copied }: { from: FolderPath; to: FolderPath; copied: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<void> {
  if (copied.size === 0) return;
  const copies = async function* () {
    for await (const { copy } of new TreeComparison(tree, from, to).copiedPairs()) {
      if (copied.has(tree.relativePath(copy, to))) yield copy;
    }
  };
  await tree.remove(copies(), { onlyUnchanged: true, signal });
}
