import { exists, isStoreError, quoted, StoreError } from '../model/error.ts';
import { MAX_NUMBER_BYTES, numberedPaths } from '../model/numbered-names.ts';
import {
  childFile,
  childFolder,
  type FilePath,
  type FolderPath,
  isFolder,
  nameOf,
  parentOf,
  ROOT,
} from '../model/path.ts';
import type { Store } from '../model/store.ts';
import { folderExists, maxPathBytesOf } from './fallbacks.ts';

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
  for (const path of numberedPaths(wanted, maxPathBytesOf(store))) {
    try {
      return await create(path);
    } catch (error) {
      if (!(await isNameTaken(store, path, error))) throw error;
      taken = error;
    }
  }
  throw taken;
}

/**
 * Returns the wanted path, with a number after each name of a folder that is the name of a file or taken otherwise, so that an
 * upload reveals no file and no folder by an error. Both paths are relative to `root`. Throws `path-too-long` unless each name has space for a number,
 * whether or not it needs one.
 */
export async function withFreeFolders(
  files: Pick<Store, 'stat'> & Required<Pick<Store, 'maxPathBytes'>>,
  {
    root,
    wanted,
    isTaken,
  }: {
    readonly root: FolderPath;
    readonly wanted: FilePath;
    /** Returns whether a folder can't be used although no file has its name. */
    readonly isTaken: (folder: FolderPath) => Promise<boolean>;
  },
): Promise<FilePath> {
  const names = wanted.split('/');
  const maxPathBytes = files.maxPathBytes();
  if (Buffer.byteLength(root + wanted) + names.length * MAX_NUMBER_BYTES > maxPathBytes) {
    throw new StoreError('path-too-long', `The path ${quoted(wanted)} is too long.`);
  }
  let free = ROOT;
  for (const name of names.slice(0, -1)) {
    for (const folder of numberedPaths(childFolder(free, name), maxPathBytes)) {
      free = folder;
      const file = (root + childFile(parentOf(folder), nameOf(folder))) as FilePath;
      if (!(await exists(files.stat(file))) && !(await isTaken((root + folder) as FolderPath))) break;
    }
  }
  return childFile(free, nameOf(wanted));
}

/**
 * Returns whether an error means that the last name of `path` is taken, and not the name of a parent folder. Listings omit what
 * is neither a file nor a folder, such as a symbolic link: then only the parent folder tells.
 */
async function isNameTaken(store: Store, path: FilePath | FolderPath, error: unknown): Promise<boolean> {
  if (isStoreError(error, 'already-exists') || isStoreError(error, 'condition-failed')) return true;
  if (!isStoreError(error, 'wrong-kind')) return false;
  const entryOfOtherKind = isFolder(path)
    ? exists(store.stat(childFile(parentOf(path), nameOf(path))))
    : folderExists(store, `${path}/` as FolderPath);
  const isOther = await entryOfOtherKind.catch((failure: unknown) => {
    if (isStoreError(failure, 'wrong-kind')) return false;
    // The store does not let the service read a folder that exists.
    if (isStoreError(failure, 'denied')) return true;
    throw failure;
  });
  return isOther || folderExists(store, parentOf(path));
}
