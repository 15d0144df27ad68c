import { exists, isStoreError } from '../model/error.ts';
import { numberedPaths } from '../model/numbered-names.ts';
import { childFile, type FilePath, type FolderPath, isFolder, nameOf, parentOf } from '../model/path.ts';
import type { Store } from '../model/store.ts';

/**
 * Calls `create` with `wanted`, and then with numbered names, until one is free. `create` must not replace anything.
 * Rejects with its last error if all names are taken.
 */
export async function withFreeName<Path extends FilePath | FolderPath, Result>(
  store: Store,
  wanted: Path,
  create: (path: Path) => Promise<Result>,
): Promise<Result> {
  let taken: unknown;
  for (const path of numberedPaths(wanted)) {
    try {
      return await create(path);
    } catch (error) {
      if (!(await isNameTaken(store, path, error))) throw error;
      taken = error;
    }
  }
  throw taken;
}

/** Returns whether an error means that the last name of `path` is taken, and not the name of a parent folder. */
async function isNameTaken(store: Store, path: FilePath | FolderPath, error: unknown): Promise<boolean> {
  if (isStoreError(error, 'already-exists') || isStoreError(error, 'condition-failed')) return true;
  if (!isStoreError(error, 'wrong-kind')) return false;
  const entryOfOtherKind = isFolder(path)
    ? store.stat(childFile(parentOf(path), nameOf(path)))
    : store.list(`${path}/` as FolderPath, { limit: 1 });
  return exists(entryOfOtherKind).catch((failure: unknown) => {
    if (isStoreError(failure, 'wrong-kind')) return false;
    throw failure;
  });
}
