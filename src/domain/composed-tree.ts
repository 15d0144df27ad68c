import { concurrently } from './concurrently.ts';
import { isStoreError, isThere } from './error.ts';
import type { ItemTree, Removal } from './item-tree.ts';
import { type FilePath, type FolderPath, rebase, withoutSlash } from './path.ts';
import type { Entry, FileEntry, Store } from './store.ts';
import { copyFile } from './transfer.ts';
import { isSameFile, walk } from './walk.ts';

/** An entry of a store as an item of a tree: a folder has no size. */
type Item = Entry & { readonly size: number };

/** How many files are copied or removed at once, where the store has nothing better. */
const CONCURRENCY = 16;

/** Folders as any store has them, made of nothing but its operations on single files and folders. */
export function composeTree(store: Store): ItemTree<Item> {
  const put = async (source: Item, to: FilePath | FolderPath, options: { replace: boolean; signal?: AbortSignal }) => {
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
        ? isThere(store.list(path as FolderPath, { ...options, limit: 1 }))
        : isThere(store.stat(path as FilePath, options));
    },

    async *walk(folder, options) {
      if (!(await isThere(store.list(folder, { signal: options.signal, limit: 1 })))) return;
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
      const remove = async (item: Item) => {
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
      const tree = composeTree(store);
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
