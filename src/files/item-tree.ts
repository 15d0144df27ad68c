import { concurrently } from '../concurrency/concurrently.ts';
import { exists, isStoreError } from '../model/error.ts';
import { type FilePath, type FolderPath, rebase, withoutSlash } from '../model/path.ts';
import type { Cancellable, Entry, FileEntry, Replacing, Store } from '../model/store.ts';
import { copyFile } from './copy-and-move.ts';
import { isSameFile, walk } from './walk.ts';

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

/** An entry of a store as an item of a tree: a folder has no size. */
type EntryItem = Entry & { readonly size: number };

/** How many files are copied or removed at once, where the store has nothing better. */
const CONCURRENCY = 16;

/** Folders as any store has them, made of nothing but its operations on single files and folders. */
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
        // A folder takes the place of a folder alone: what has the name of the whole is not put aside.
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
      // What is in a folder comes behind it.
      for (const folder of folders.toReversed()) await removeFolderIfEmpty(store, folder);
    },
  };
}

/** Removes what is at `path` though it is of the other kind; what is in the way further up is not for us to remove. */
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
