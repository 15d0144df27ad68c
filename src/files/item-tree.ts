import { concurrently } from '../concurrency/concurrently.ts';
import { exists, isStoreError } from '../model/error.ts';
import { type FilePath, type FolderPath, rebase, withoutSlash } from '../model/path.ts';
import type { Cancellable, Entry, FileEntry, Replacing, Store } from '../model/store.ts';
import { copyFile } from './copy-and-move.ts';
import { isSameFile, walk } from './walk.ts';

/**
 * The content of folders as items that are copied and removed one by one. Folder operations use it for backends that
 * can't copy or move a folder in one step. An item is a file, or a folder that exists as an entry of its own.
 */
export interface ItemTree<Item extends { readonly size: number }> {
  /** Maximum number of items that are copied or checked in parallel. */
  readonly concurrency: number;
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
  /**
   * Lists the same items for comparisons, as fast as possible; they can be seconds old. Present only if `walk` is
   * slower.
   */
  readonly walkAhead?: ItemTree<Item>['walk'];
  /**
   * Lists the same items in any order, for removals. Present only if `walk` can fail because the backend does not
   * sort its listings.
   */
  readonly walkInAnyOrder?: ItemTree<Item>['walk'];
  /** Returns the path of an item relative to the folder; empty for the folder itself. */
  below(item: Item, folder: FolderPath): string;
  isFile(item: Item): boolean;
  /** Returns an identifier of the item's version. It does not depend on the folder. */
  versionOf(item: Item): string;
  /**
   * Returns whether the item with this relative path exists. Sends a request for this item alone, because listings
   * can be incomplete.
   */
  isPresent(below: string, folder: FolderPath, options: Cancellable): Promise<boolean>;
  /** Returns whether two files have the same content. Returns false in case of doubt. */
  isSame(source: Item, copy: Item, options: Cancellable): Promise<boolean>;
  /**
   * Copies an item of `from` to its path in `to`. `present` is the existing item at that path, if any.
   *
   * Throws `not-found` if the store finds no source. The caller verifies that with `isPresent`.
   */
  copy(
    source: Item,
    places: { from: FolderPath; to: FolderPath; present: Item | undefined },
    options: Replacing & Cancellable,
  ): Promise<void>;
  /** Removes the items. Missing items count as removed. A folder remains while it contains other items. */
  remove(items: AsyncIterable<Item>, options: Removal<Item>): Promise<void>;
}

export interface Removal<Item> extends Cancellable {
  /** Whether an item remains if it has changed since it was listed. */
  readonly asSeen: boolean;
  readonly onRemoved?: (item: Item) => void;
}

/** An entry of a store as an item of a tree. Folders have size 0. */
type EntryItem = Entry & { readonly size: number };

/** Number of files that are copied or removed in parallel in stores without a tree of their own. */
const CONCURRENCY = 16;

/** Creates the tree for any store, from operations on single files and folders. */
export function fallbackTree(store: Store): ItemTree<EntryItem> {
  const put = async (
    source: EntryItem,
    to: FilePath | FolderPath,
    options: { replace: boolean; signal?: AbortSignal },
  ) => {
    if (source.kind === 'folder') await store.createFolder(to as FolderPath, { signal: options.signal });
    else await copyFile(store, source.path, to as FilePath, options);
  };

  return {
    concurrency: CONCURRENCY,
    isNested: true,
    requireFolder: async (folder, { signal }) => void (await store.list(folder, { signal, limit: 1 })),
    below: (item, folder) => item.path.slice(folder.length),
    isFile: (item) => item.kind === 'file',
    versionOf: (item) => (item.kind === 'file' ? `${item.size} ${item.etag}` : ''),
    isSame: async (source, copy) => isSameFile(source, copy),

    isPresent(below, folder, options) {
      const path = folder + below;
      return path.endsWith('/')
        ? exists(store.list(path as FolderPath, { ...options, limit: 1 }))
        : exists(store.stat(path as FilePath, options));
    },

    async *walk(folder, options) {
      if (!(await exists(store.list(folder, { signal: options.signal, limit: 1 })))) return;
      yield { kind: 'folder', path: folder, size: 0 };
      for await (const entry of walk(store, folder, options)) yield { size: 0, ...entry };
    },

    async copy(source, { from, to }, options) {
      const path = rebase<FilePath | FolderPath>(source.path, from, to);
      try {
        await put(source, path, options);
      } catch (error) {
        // A folder replaces an entry of the other kind only below the destination, never the destination itself.
        if (!options.replace || path === to || !isStoreError(error, 'wrong-kind')) throw error;
        await removeOtherKind(store, path, error);
        await put(source, path, options);
      }
    },

    async remove(items, options) {
      const folders: FolderPath[] = [];
      const remove = async (item: EntryItem) => {
        if (item.kind === 'folder') return void folders.push(item.path);
        await removeFile(store, item, options);
        options.onRemoved?.(item);
      };
      await concurrently(items, CONCURRENCY, remove, options.signal);
      // A folder precedes its content in the order, so the reversed list removes the content first.
      for (const folder of folders.toReversed()) await removeFolderIfEmpty(store, folder);
    },
  };
}

/**
 * Removes the entry at `path` that is of the other kind. Throws `conflict` if there is none, because then a parent in
 * the path conflicts, and this function must not remove that.
 */
async function removeOtherKind(store: Store, path: FilePath | FolderPath, conflict: unknown): Promise<void> {
  try {
    if (path.endsWith('/')) {
      await store.remove(withoutSlash(path) as FilePath);
    } else {
      const tree = fallbackTree(store);
      const folder = `${path}/` as FolderPath;
      await tree.requireFolder(folder, {});
      await tree.remove(tree.walk(folder, {}), { asSeen: false });
    }
  } catch (error) {
    throw isStoreError(error, 'not-found') ? conflict : error;
  }
}

async function removeFile(store: Store, { path, etag }: FileEntry, { asSeen, signal }: Removal<never>): Promise<void> {
  try {
    await store.remove(path, { ...(asSeen && { ifMatch: etag }), signal });
  } catch (error) {
    if (!isStoreError(error, 'not-found') && !isStoreError(error, 'condition-failed')) throw error;
  }
}

async function removeFolderIfEmpty(store: Store, folder: FolderPath): Promise<void> {
  try {
    await store.removeFolder(folder);
  } catch (error) {
    if (!isStoreError(error, 'not-found') && !isStoreError(error, 'already-exists')) throw error;
  }
}
