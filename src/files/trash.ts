import { isStoreError, StoreError } from '../model/error.ts';
import type { KeptId } from '../model/kept-ids.ts';
import { type FilePath, type FolderPath, folderNamed, isWithin, ROOT } from '../model/path.ts';
import {
  type Cancellable,
  MAX_PAGE,
  type Reporting,
  type Store,
  type TrashedItem,
  type TrashListing,
  type TrashStore,
} from '../model/store.ts';
import { type FolderFilter, removeEmptyTree } from './empty-trees.ts';
import { withFreeName } from './free-name.ts';

/** Selects items: those from `folder`, at any depth, whose path `isShown` accepts. Default: all. */
interface Selection {
  readonly folder?: FolderPath | undefined;
  readonly isShown?: ((path: FilePath | FolderPath) => boolean) | undefined;
}

export type TrashListOptions = Selection & {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
} & Cancellable;

export type RestoreOptions = {
  /** The new path, of the kind of the item. Default: the path from which it was deleted. */
  readonly to?: FilePath | FolderPath | undefined;
  /** Whether to choose a numbered name if the name is taken. Otherwise, a taken name is `already-exists`. */
  readonly rename?: boolean;
  /** Replaces a folder that contains only folders that this function accepts, at any depth. Without it, replaces none. */
  readonly replaceEmpty?: FolderFilter | undefined;
  /** Called with each path before the item is restored to it. If it rejects with `already-exists`, the name is taken. */
  readonly permit?: ((to: FilePath | FolderPath) => Promise<void>) | undefined;
} & Reporting &
  Cancellable;

export type EmptyOptions = Selection & {
  /** Selects items by their id. Default: all. */
  readonly isMeant?: ((id: KeptId) => boolean) | undefined;
  /** Called with each item that was removed. */
  readonly onRemoved?: (item: TrashedItem) => void;
} & Reporting &
  Cancellable;

/** The operations on the trash. Each one throws `unsupported` if the store has no trash. */
export interface TrashOperations {
  /** Lists the selected items, the newest first. A cursor is the position after one of them. */
  listTrash(options?: TrashListOptions): Promise<TrashListing>;
  /** Returns an item. Throws `not-found`. */
  findTrashed(id: KeptId, options?: Cancellable): Promise<TrashedItem>;
  /** Moves an item out of the trash and returns its new path. Throws the errors of `Store.restoreTrashed`. */
  restoreTrashed(id: KeptId, options?: RestoreOptions): Promise<FilePath | FolderPath>;
  /** Removes an item permanently. Throws `not-found`. */
  purgeTrashed(id: KeptId, options?: Reporting & Cancellable): Promise<void>;
  /** Removes the selected items permanently. Returns their number. Throws if one of them can't be removed, after the others. */
  emptyTrash(options?: EmptyOptions): Promise<number>;
}

/** Returns the store as one with a trash; undefined if it has none. */
export function trashOf(store: Store): TrashStore | undefined {
  return store.moveToTrash ? (store as Store & TrashStore) : undefined;
}

export function createTrashOperations(store: Store): TrashOperations {
  const trash = trashOf(store);
  return {
    listTrash: async (options = {}) => listShown(requireTrash(trash), options),
    findTrashed: async (id, options) => requireTrash(trash).findTrashed(id, options),
    restoreTrashed: async (id, options = {}) => restore(store, requireTrash(trash), { ...options, id }),
    purgeTrashed: async (id, options) => requirePurge(trash)(id, options),
    emptyTrash: async (options = {}) => empty(requireTrash(trash), options),
  };
}

function requireTrash(trash: TrashStore | undefined): TrashStore {
  if (trash) return trash;
  throw noTrash();
}

/** Returns the error for a store without a trash, or for a trash that is turned off. */
export function noTrash(): StoreError {
  return new StoreError('unsupported', 'The store has no trash. Deletes are permanent.');
}

function requirePurge(trash: TrashStore | undefined): NonNullable<TrashStore['purgeTrashed']> {
  const { purgeTrashed } = requireTrash(trash);
  if (purgeTrashed) return purgeTrashed;
  throw new StoreError('unsupported', "The store can't remove content permanently. The item remains in its history.");
}

/** Number of items of the pages after the first one, because most stores don't skip items that are not selected. */
const SCAN_ITEMS = 10_000;

/**
 * Lists the selected items. Whether the page has a cursor depends only on items that are selected, and the cursor names
 * one of them. So no cursor, not even one that a client makes up, reveals another item.
 */
async function listShown(
  trash: TrashStore,
  { folder = ROOT, isShown = () => true, cursor, limit = MAX_PAGE, signal }: TrashListOptions,
): Promise<TrashListing> {
  const isSelected = (path: FilePath | FolderPath) => isWithin(path, folder) && isShown(path);
  const found: TrashedItem[] = [];
  let position = cursor;
  // One more item shows whether another page follows.
  let size = limit + 1;
  do {
    signal?.throwIfAborted();
    const page = await trash.listTrash({ cursor: position, limit: size, isSelected, signal });
    found.push(...page.items.filter(({ path }) => isSelected(path)));
    position = page.cursor;
    size = SCAN_ITEMS;
  } while (position !== undefined && found.length <= limit);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return last && found.length > limit ? { items, cursor: last.id } : { items };
}

async function restore(
  store: Store,
  trash: TrashStore,
  { id, to, rename = false, replaceEmpty, permit, ...options }: RestoreOptions & { readonly id: KeptId },
): Promise<FilePath | FolderPath> {
  const wanted = to ?? (await trash.findTrashed(id, options)).path;
  if (wanted === ROOT) {
    throw new StoreError('root-not-allowed', "The root can't be the destination. Name the restored folder.");
  }
  const move = async (path: FilePath | FolderPath) => {
    await permit?.(path);
    if (replaceEmpty) await removeEmptyTree(store, folderNamed(path), replaceEmpty, options);
    await trash.restoreTrashed(id, path, options);
    return path;
  };
  return rename ? withFreeName(store, wanted, move) : move(wanted);
}

/** Kinds and codes of errors that concern one item, and not the whole store. */
const ITEM_ERRORS: ReadonlySet<string> = new Set(['denied', 'other-file-system', 'disk-error', 'file-busy']);

/** The outcome for one of several items. */
interface PurgeOutcome {
  readonly isPurged: boolean;
  /** Why the item remains. */
  readonly failure?: StoreError;
}

/**
 * Waits until one of several items is removed. Another request or process can remove or restore it first, or it can't be
 * removed. Throws other errors: those of the whole store.
 */
export async function outcomeOfPurge(purge: Promise<void>): Promise<PurgeOutcome> {
  try {
    await purge;
    return { isPurged: true };
  } catch (error) {
    if (isStoreError(error, 'not-found')) return { isPurged: false };
    if (isStoreError(error) && (ITEM_ERRORS.has(error.kind) || ITEM_ERRORS.has(error.code))) {
      return { isPurged: false, failure: error };
    }
    throw error;
  }
}

/** Removes the selected items. Continues after an item that can't be removed, and then throws the first error. */
async function empty(
  trash: TrashStore,
  { folder, isShown, isMeant = () => true, onRemoved, onProgress, signal }: EmptyOptions,
): Promise<number> {
  const purge = requirePurge(trash);
  let [done, bytes] = [0, 0];
  let cursor: string | undefined;
  let firstFailure: StoreError | undefined;
  do {
    const page = await listShown(trash, { folder, isShown, cursor, signal });
    for (const item of page.items) {
      signal?.throwIfAborted();
      if (!isMeant(item.id)) continue;
      const { isPurged, failure } = await outcomeOfPurge(purge(item.id, { signal }));
      firstFailure ??= failure;
      if (!isPurged) continue;
      onRemoved?.(item);
      done++;
      bytes += item.size ?? 0;
      onProgress?.({ done, total: null, bytes });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  if (firstFailure) throw firstFailure;
  return done;
}
