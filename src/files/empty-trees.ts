import { type ErrorKind, isStoreError } from '../model/error.ts';
import type { FolderPath } from '../model/path.ts';
import type { Cancellable, Store } from '../model/store.ts';

/** Returns whether a folder in an empty tree can be removed. */
export type FolderFilter = (folder: FolderPath) => boolean;

/**
 * Removes a folder that contains only folders that `isRemovable` accepts, at any depth. Leaves any other one unchanged, also
 * one with many entries.
 */
export async function removeEmptyTree(
  store: Store,
  folder: FolderPath,
  isRemovable: FolderFilter,
  { signal }: Cancellable,
): Promise<void> {
  await removeFolders(store, await foldersOfEmptyTree(store, folder, isRemovable, signal), { signal });
}

/** Empties a folder like `removeEmptyTree`, which remains. */
export async function removeEmptyChildren(
  store: Store,
  folder: FolderPath,
  isRemovable: FolderFilter,
  { signal }: Cancellable,
): Promise<void> {
  await removeFolders(store, (await foldersOfEmptyTree(store, folder, isRemovable, signal)).slice(1), { signal });
}

async function removeFolders(store: Store, folders: readonly FolderPath[], { signal }: Cancellable): Promise<void> {
  // Each folder precedes its content. A file that arrives meanwhile keeps its folders from being removed.
  for (const each of folders.toReversed()) {
    await store.removeFolder(each, { signal }).catch((error: unknown) => {
      if (!isStoreError(error, 'not-found') && !isStoreError(error, 'already-exists')) throw error;
    });
  }
}

/** Errors of a path that has no folder. */
const ABSENT: ReadonlySet<ErrorKind> = new Set(['not-found', 'wrong-kind', 'invalid-path']);

async function foldersOfEmptyTree(
  store: Store,
  root: FolderPath,
  isRemovable: FolderFilter,
  signal: AbortSignal | undefined,
): Promise<readonly FolderPath[]> {
  const folders = [root];
  try {
    // The list grows while it is read.
    for (const folder of folders) {
      const { entries, cursor } = await store.list(folder, { signal });
      if (cursor !== undefined) return [];
      for (const entry of entries) {
        if (entry.kind === 'file' || !isRemovable(entry.path)) return [];
        folders.push(entry.path);
      }
    }
    return folders;
  } catch (error) {
    // The restore or move reports what is in the way. A path of the maximum length is too long for a folder, with its "/".
    if (isStoreError(error) && ABSENT.has(error.kind)) return [];
    throw error;
  }
}
