import { concurrently } from '../concurrency/concurrently.ts';
import { exists, isStoreError, undefinedIfNotFound } from '../model/error.ts';
import { type FilePath, type FolderPath, MAX_KEY_BYTES, ROOT, rebase, withoutSlash } from '../model/path.ts';
import type { Cancellable, Entry, FileEntry, Keeping, Moving, Replacing, Store } from '../model/store.ts';
import { alreadyExists, inconsistentStore, versionReplaced } from '../model/store-errors.ts';
import type { ItemTree, Removal } from './item-tree.ts';

/* Fallbacks of `Files` for missing optional members of `Store`, with the required members of `Store`. */

/**
 * Copies one file: inside the store if it can, otherwise by reading and writing it. Without `replace`, checks for an
 * existing destination before the read, and again when the copy is committed.
 */
export async function copyFile(
  store: Store,
  from: FilePath,
  to: FilePath,
  { replace, keep, ...options }: Replacing & Keeping & Cancellable,
): Promise<FileEntry> {
  if (store.copy) return store.copy(from, to, { replace, keep, ...options });
  const source = await store.stat(from, options);
  if (!replace && (await undefinedIfNotFound(store.stat(to, options)))) throw alreadyExists(to);
  const { body, file } = await store.read(from, { ...options, ifMatch: source.etag }).catch(async (error: unknown) => {
    const isPresent = isStoreError(error, 'not-found') && (await exists(store.stat(from, options)));
    throw isPresent ? inconsistentStore(from, error) : error;
  });
  try {
    const condition = replace ? undefined : 'absent';
    const modified = () => file.modified ?? undefined;
    const upload = { body, size: file.size, type: file.type, modified };
    return await store.write(to, upload, { ...options, keep, condition });
  } catch (error) {
    throw !replace && isStoreError(error, 'condition-failed') ? alreadyExists(to, error) : error;
  }
}

/**
 * Moves one file: inside the store if it can, otherwise by a copy and the removal of the copied version. A version
 * that is written to the source during the copy remains. An identical file at the destination counts as the copy of
 * an interrupted move.
 */
export async function moveFile(
  store: Store,
  from: FilePath,
  to: FilePath,
  { onNewEtag, ...options }: Moving,
): Promise<void> {
  if (store.move) return store.move(from, to, { ...options, onNewEtag });
  const source = await store.stat(from, options);
  const present = await undefinedIfNotFound(store.stat(to, options));
  const copy = isSameFile(source, present) ? source : await copyFile(store, from, to, options);
  if (copy.size !== source.size) throw versionReplaced(from);
  await store.remove(from, { ...options, ifMatch: source.etag });
  if (copy.etag !== source.etag) onNewEtag?.(copy.etag);
}

/** Returns the maximum length of a path in a store in UTF-8 bytes. */
export const maxPathBytesOf = (store: Pick<Store, 'maxPathBytes'>): number => store.maxPathBytes?.() ?? MAX_KEY_BYTES;

/** Returns whether two entries are files with the same content. */
export function isSameFile(left: Entry | undefined, right: Entry | undefined): boolean {
  return left?.kind === 'file' && right?.kind === 'file' && left.size === right.size && left.etag === right.etag;
}

/** Lists everything below a folder in the order of `comparePaths`: with `Store.walk` if the store has it. */
export async function* walk(store: Store, folder: FolderPath, options: Cancellable = {}): AsyncGenerator<Entry> {
  if (store.walk) yield* store.walk(folder, options);
  else yield* walkByLists(store.list, folder, options);
}

/** Lists the same entries as `walk`, with listings of single folders only. */
export async function* walkByLists(
  list: Store['list'],
  folder: FolderPath,
  options: Cancellable,
): AsyncGenerator<Entry> {
  let cursor: string | undefined;
  do {
    options.signal?.throwIfAborted();
    const page = await list(folder, { ...options, cursor }).catch((error: unknown) => {
      if (isStoreError(error, 'not-found')) return undefined;
      throw error;
    });
    // The folder does not exist, or was deleted after its parent was listed.
    if (!page) return;
    for (const entry of page.entries) {
      yield entry;
      if (entry.kind === 'folder') yield* walkByLists(list, entry.path, options);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** An entry of a store as an item of a tree. Folders have size 0. */
type EntryItem = Entry & { readonly size: number };

/** Number of files that are copied or removed in parallel in stores without a tree of their own. */
const CONCURRENCY = 16;

/** The items of any store, with operations on single files and folders. */
export class FallbackTree implements ItemTree<EntryItem> {
  readonly concurrency = CONCURRENCY;
  readonly isNested = true;
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get maxPathBytes(): number {
    return maxPathBytesOf(this.#store);
  }

  async requireFolder(folder: FolderPath, { signal }: Cancellable): Promise<void> {
    await this.#store.list(folder, { signal, limit: 1 });
  }

  async *walk(folder: FolderPath, { signal }: Cancellable): AsyncGenerator<EntryItem> {
    if (!(await exists(this.requireFolder(folder, { signal })))) return;
    yield { kind: 'folder', path: folder, size: 0 };
    for await (const entry of walk(this.#store, folder, { signal })) yield { size: 0, ...entry };
  }

  relativePath(item: EntryItem, folder: FolderPath): string {
    return item.path.slice(folder.length);
  }

  isFile(item: EntryItem): boolean {
    return item.kind === 'file';
  }

  versionOf(item: EntryItem): string {
    return item.kind === 'file' ? `${item.size} ${item.etag}` : '';
  }

  async isSame(source: EntryItem, copy: EntryItem): Promise<boolean> {
    return isSameFile(source, copy);
  }

  isPresent(relativePath: string, folder: FolderPath, options: Cancellable): Promise<boolean> {
    const path = folder + relativePath;
    return path.endsWith('/')
      ? exists(this.requireFolder(path as FolderPath, options))
      : exists(this.#store.stat(path as FilePath, options));
  }

  async copy(
    source: EntryItem,
    { from, to }: { from: FolderPath; to: FolderPath },
    options: Replacing & Cancellable,
  ): Promise<void> {
    const path = rebase<FilePath | FolderPath>(source.path, from, to, this.maxPathBytes);
    try {
      await this.#copyTo(path, source, options);
    } catch (error) {
      // A folder replaces an entry of the other kind only below the destination, never the destination itself.
      if (!options.replace || path === to || !isStoreError(error, 'wrong-kind')) throw error;
      await this.#removeOtherKind(path, error);
      await this.#copyTo(path, source, options);
    }
  }

  async #copyTo(to: FilePath | FolderPath, source: EntryItem, options: Replacing & Cancellable): Promise<void> {
    if (source.kind === 'folder') await this.#store.createFolder(to as FolderPath, { signal: options.signal });
    else await copyFile(this.#store, source.path, to as FilePath, options);
  }

  async remove(items: AsyncIterable<EntryItem>, options: Removal<EntryItem>): Promise<void> {
    const folders: FolderPath[] = [];
    const removeItem = async (item: EntryItem) => {
      if (item.kind === 'folder') return void folders.push(item.path);
      await this.#removeFile(item, options);
      options.onRemoved?.(item);
    };
    await concurrently(items, CONCURRENCY, removeItem, options.signal);
    // A folder precedes its content in the order, so the reversed list removes the content first.
    for (const folder of folders.toReversed()) await this.#removeFolderIfEmpty(folder);
  }

  /**
   * Removes the entry at `path` that is of the other kind. Throws `conflict` if there is none, because then a parent in
   * the path conflicts, and this method must not remove that.
   */
  async #removeOtherKind(path: FilePath | FolderPath, conflict: unknown): Promise<void> {
    try {
      if (path.endsWith('/')) {
        await this.#store.remove(withoutSlash(path) as FilePath);
      } else {
        const folder = `${path}/` as FolderPath;
        await this.requireFolder(folder, {});
        await this.remove(this.walk(folder, {}), { onlyUnchanged: false });
      }
    } catch (error) {
      throw isStoreError(error, 'not-found') ? conflict : error;
    }
  }

  async #removeFile({ path, etag }: FileEntry, { onlyUnchanged, signal }: Removal<EntryItem>): Promise<void> {
    try {
      await this.#store.remove(path, { ...(onlyUnchanged && { ifMatch: etag }), signal });
    } catch (error) {
      if (!isStoreError(error, 'not-found') && !isStoreError(error, 'condition-failed')) throw error;
    }
  }

  async #removeFolderIfEmpty(folder: FolderPath): Promise<void> {
    try {
      await this.#store.removeFolder(folder);
    } catch (error) {
      if (!isStoreError(error, 'not-found') && !isStoreError(error, 'already-exists')) throw error;
    }
  }
}

/** Returns whether a folder exists, by `Store.hasFolder` or a listing. */
export async function folderExists(store: Store, folder: FolderPath, options: Cancellable = {}): Promise<boolean> {
  if (folder === ROOT) return true;
  if (store.hasFolder) return store.hasFolder(folder, options);
  try {
    return await exists(store.list(folder, { ...options, limit: 1 }));
  } catch (error) {
    if (isStoreError(error, 'wrong-kind')) return false;
    throw error;
  }
}
