import type { FolderPath } from './path.ts';
import type { Cancellable, Replacing } from './store.ts';

/**
 * What lies in folders, as items that are copied and removed one by one: what a transfer needs of a backend that
 * can't copy or move a folder in one step. An item is a file, or a folder that has to be named to be there.
 */
export interface ItemTree<Item extends { readonly size: number }> {
  /** How many items are copied, or looked at, at once. */
  readonly concurrency: number;
  /**
   * Whether folders hold what is in them: one is made before that, where something else may have its name, and goes
   * after it. Else a folder is an item like any other.
   */
  readonly isNested: boolean;
  /** Throws `not-found` where the folder is not there. */
  requireFolder(folder: FolderPath, options: Cancellable): Promise<void>;
  /** The folder itself and everything in it, in the order of `comparePaths`; nothing for a missing one. */
  walk(folder: FolderPath, options: Cancellable): AsyncIterable<Item>;
  /** The same for a look, as quickly as can be: what it gives may be seconds old. Present only where `walk` is slower. */
  readonly walkAhead?: ItemTree<Item>['walk'];
  /** The same items in any order, for a removal. Present only where `walk` may find no order, and fail. */
  readonly walkInAnyOrder?: ItemTree<Item>['walk'];
  /** What the item is called below the folder; empty for the folder itself. */
  below(item: Item, folder: FolderPath): string;
  isFile(item: Item): boolean;
  /** Tells one version of an item from another; the same for all folders. */
  versionOf(item: Item): string;
  /** Whether the item that has this path below the folder exists, by a request for it alone instead of a listing. */
  isPresent(below: string, folder: FolderPath, options: Cancellable): Promise<boolean>;
  /** Whether two files hold the same bytes. When in doubt, they do not. */
  isSame(source: Item, copy: Item, options: Cancellable): Promise<boolean>;
  /**
   * Copies an item of `from` to its path in `to`; what is there already, if anything, is `present`.
   *
   * Throws `not-found` where the store finds no source: the caller checks that with `isPresent`.
   */
  copy(
    source: Item,
    places: { from: FolderPath; to: FolderPath; present: Item | undefined },
    options: Replacing & Cancellable,
  ): Promise<void>;
  /** Removes the items; those that are gone count as removed, and a folder stays while something else is in it. */
  remove(items: AsyncIterable<Item>, options: Removal<Item>): Promise<void>;
}

export interface Removal<Item> extends Cancellable {
  /** Whether an item that has changed since it was seen stays. */
  readonly asSeen: boolean;
  readonly onRemoved?: (item: Item) => void;
}
