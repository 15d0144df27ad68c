import type { FolderPath } from '../model/path.ts';
import type { Cancellable, Replacing } from '../model/store.ts';

/**
 * The content of folders as items that are copied and removed one by one. Folder operations use it for backends that
 * can't copy or move a folder in one step. An item is a file, or a folder that exists as an entry of its own.
 */
export interface ItemTree<Item extends { readonly size: number }> {
  /** Maximum number of items that are copied or checked in parallel. */
  readonly concurrency: number;
  /** Maximum length of a path in UTF-8 bytes. */
  readonly maxPathBytes: number;
  /**
   * Whether folders contain their items. If true, a folder is created before its items, because another entry can
   * have its name, and removed after them. If false, folders are items like files.
   */
  readonly isNested: boolean;
  /** Throws `not-found` if the folder does not exist. */
  requireFolder(folder: FolderPath, options: Cancellable): Promise<void>;
  /**
   * Lists the folder itself and everything in it, in the order of `comparePaths`. Yields nothing for a missing
   * folder.
   */
  walk(folder: FolderPath, options: Cancellable): AsyncIterable<Item>;
  /** Lists the same items. Throws `invalid-path` if `walk` omits any. Present only if it can omit items. */
  walkStrictly?(folder: FolderPath, options: Cancellable): AsyncIterable<Item>;
  /**
   * Lists the same items for comparisons, as fast as possible; they can be seconds old. Present only if `walk` is
   * slower.
   */
  walkForComparison?(folder: FolderPath, options: Cancellable): AsyncIterable<Item>;
  /**
   * Lists the same items in any order, for removals. Present only if `walk` can fail because the backend does not
   * sort its listings.
   */
  walkInAnyOrder?(folder: FolderPath, options: Cancellable): AsyncIterable<Item>;
  /** Returns the path of an item relative to the folder; empty for the folder itself. */
  relativePath(item: Item, folder: FolderPath): string;
  isFile(item: Item): boolean;
  /** Returns an identifier of the item's version. It does not depend on the folder. */
  versionOf(item: Item): string;
  /**
   * Returns whether the item with this relative path exists. Sends a request for this item alone, because listings
   * can be incomplete.
   */
  isPresent(relativePath: string, folder: FolderPath, options: Cancellable): Promise<boolean>;
  /** Returns whether two files have the same content. Returns false in case of doubt. */
  isSame(source: Item, copy: Item, options: Cancellable): Promise<boolean>;
  /**
   * Copies an item of `from` to its path in `to`. `present` is the existing item at that path, if any.
   *
   * Throws `not-found` if the store finds no source. The caller verifies that with `isPresent`.
   */
  copy(
    source: Item,
    folders: { from: FolderPath; to: FolderPath; present: Item | undefined },
    options: Replacing & Cancellable,
  ): Promise<void>;
  /**
   * Begins an exclusive use of a destination among all processes: by an operation that relies on copies of another one, or that
   * removes its own. Throws `store-busy` during another use. Present only if several processes can copy to one folder.
   */
  useExclusively?(to: FolderPath, options: Cancellable): Promise<ExclusiveUse>;
  /** Removes the items. Missing items count as removed. A folder remains while it contains other items. */
  remove(items: AsyncIterable<Item>, options: Removal<Item>): Promise<void>;
}

export interface ExclusiveUse {
  /** Aborts if the use is no longer exclusive. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

export interface Removal<Item> extends Cancellable {
  /** Whether an item remains if it has changed since it was listed. */
  readonly onlyUnchanged: boolean;
  /** Called for each removed item. */
  readonly onRemoved?: (item: Item) => void;
}
