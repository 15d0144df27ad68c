import { exists, isStoreError, quoted, StoreError } from '../model/error.ts';
import { type FolderPath, isWithin, ROOT } from '../model/path.ts';
import type { Bounded, Cancellable, Reporting, Store } from '../model/store.ts';
import { alreadyExists } from '../model/store-errors.ts';
import { FallbackTree } from './fallbacks.ts';
import { deleteItems, type FolderOptions, FolderTransfer } from './folder-transfer.ts';
import type { ItemTree } from './item-tree.ts';
import { TreeComparison } from './tree-comparison.ts';

/** A copy that can be an attempt of several, because the process of an earlier one might have been killed. */
export interface CopyAttempt {
  /** Whether an earlier attempt found that the destination did not exist. */
  readonly hadNoDestination: boolean;
  /** Called before the copy if the destination does not exist. */
  readonly onNoDestination: () => Promise<void>;
}

export interface Attempting {
  /** Without it, an existing and complete copy is `already-exists`. Has no effect with `replace`. */
  readonly attempt?: CopyAttempt | undefined;
}

/** The operations on a folder and everything in it, with the rules that hold for every store. */
export interface FolderOperations {
  deleteFolder(folder: FolderPath, options?: Bounded & Reporting & Cancellable): Promise<void>;
  copyFolder(from: FolderPath, to: FolderPath, options: FolderOptions & Attempting): Promise<void>;
  moveFolder(from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void>;
}

/**
 * Creates the folder operations of `Files`. They use the capabilities of the store, or the item-wise operations on a
 * `FallbackTree`.
 */
export function createFolderOperations(store: Store): FolderOperations {
  const itemwise = createItemwiseOperations(new FallbackTree(store));

  return {
    async deleteFolder(folder, options) {
      await (store.removeTree ?? itemwise.removeTree)(folder, options);
    },

    async copyFolder(from, to, { attempt, ...options }) {
      await requireSeparateFolders(store, from, to, options);
      if (attempt && !options.replace && (await isCopiedBefore(store, { from, to, attempt }, options))) return;
      await (store.copyFolder ?? itemwise.copyFolder)(from, to, options);
    },

    async moveFolder(from, to, options) {
      await requireSeparateFolders(store, from, to, options);
      await (store.moveFolder ?? itemwise.moveFolder)(from, to, options);
    },
  };
}

/** Creates the folder operations of a store that copies, moves and deletes folders item by item. */
export function createItemwiseOperations<Item extends { readonly size: number }>(
  tree: ItemTree<Item>,
): Required<Pick<Store, 'copyFolder' | 'moveFolder' | 'removeTree'>> {
  return {
    copyFolder: (from, to, options) => new FolderTransfer(tree, from, to, options).copy(),
    moveFolder: (from, to, options) => new FolderTransfer(tree, from, to, options).move(),
    removeTree: (folder, options) => deleteItems(tree, folder, options),
  };
}

/**
 * Returns whether an earlier attempt of a copy has created the destination: it did not exist then, and now has the same
 * files and folders as the source, with the same sizes. Not every store can compare more.
 */
async function isCopiedBefore(
  store: Store,
  { from, to, attempt }: { readonly from: FolderPath; readonly to: FolderPath; readonly attempt: CopyAttempt },
  { signal }: Cancellable,
): Promise<boolean> {
  const isPresent = await exists(store.list(to, { signal, limit: 1 })).catch((error: unknown) => {
    // The copy reports what is in the way.
    if (isStoreError(error, 'wrong-kind')) return true;
    throw error;
  });
  if (!isPresent) {
    await attempt.onNoDestination();
    return false;
  }
  if (!attempt.hadNoDestination) return false;
  const { source, missing, extras } = await new TreeComparison(new SizeTree(store), from, to).survey({ signal });
  return source !== undefined && missing === undefined && extras.size === 0;
}

/** Compares files only by their sizes. */
class SizeTree extends FallbackTree {
  override async isSame(source: { readonly size: number }, copy: { readonly size: number }): Promise<boolean> {
    return source.size === copy.size;
  }
}

/** Throws if one of two folders is the root, or if they are equal or inside each other. */
async function requireSeparateFolders(
  store: Store,
  from: FolderPath,
  to: FolderPath,
  options: FolderOptions,
): Promise<void> {
  if (from === ROOT) throw new StoreError('root-not-allowed', "The root can't be copied, moved or renamed.");
  if (to === ROOT) throw new StoreError('root-not-allowed', "The root can't be the destination. Name the new folder.");
  if (from === to) {
    throw new StoreError(
      'same-path',
      `The source and the destination are the same, ${quoted(from)}. Choose another destination.`,
    );
  }
  if (isWithin(to, from)) {
    throw new StoreError(
      'folder-into-itself',
      `The destination ${quoted(to)} is inside the source ${quoted(from)}. Choose another destination.`,
    );
  }
  if (isWithin(from, to)) {
    await store.list(from, { signal: options.signal, limit: 1 });
    if (!options.replace) throw alreadyExists(to);
    throw new StoreError(
      'destination-contains-source',
      `The destination ${quoted(to)} contains the source ${quoted(from)}. Choose another destination.`,
    );
  }
}
