import type { BigIntStats, PathLike } from 'node:fs';
import { link, lstat, rename, rmdir, unlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { systemErrorCode } from '../../model/error.ts';
import { type FilePath, type FolderPath, nameOf } from '../../model/path.ts';
import { kindConflict } from '../../model/store-errors.ts';
import { toStoreError } from './errors.ts';
import { type Folder, openDirHandle } from './folder.ts';
import type { Root } from './root.ts';
import type { Temporary } from './temporary.ts';

/**
 * Opens the parent folder of `path` and runs `task` with it. Converts file system errors to store errors about `path`.
 */
export async function inParent<Result>(
  root: Root,
  path: FilePath | FolderPath,
  task: (folder: Folder) => Promise<Result>,
): Promise<Result> {
  try {
    await using folder = await root.openParent(path);
    return await task(folder);
  } catch (error) {
    throw toStoreError(error, path);
  }
}

/**
 * Returns the stats of the file `path` in its parent `folder`; undefined if the name is free. Throws `wrong-kind` if
 * the name belongs to anything other than a regular file.
 */
export async function lookUpFile(folder: Folder, path: FilePath): Promise<BigIntStats | undefined> {
  const found = await folder.lookUp(nameOf(path));
  if (found && !found.isFile()) throw kindConflict(path);
  return found;
}

/** Returns the stats of a folder; undefined if the name is free. Throws `wrong-kind` if it is not a folder. */
export async function lookUpFolder(folder: Folder, path: FolderPath): Promise<BigIntStats | undefined> {
  const found = await folder.lookUp(nameOf(path));
  if (found && !found.isDirectory()) throw kindConflict(path);
  return found;
}

/**
 * Moves the file `from` to `to` without replacing anything: `link(2)`, then removal of the old name. The file has at
 * least one of the two names at any moment. After an interruption between the two steps, calling it again completes the
 * move. Throws EEXIST if `to` exists. If several callers move the same file, one succeeds and the others get ENOENT.
 */
export async function renameToNew(from: string, to: string, temporary: Temporary): Promise<void> {
  const source = await identityOf(from);
  let isOurs = true;
  try {
    await link(from, to);
  } catch (error) {
    if (LINKS_REFUSED.has(systemErrorCode(error) ?? '')) return renameUnlessPresent(from, to);
    // link(2) also fails with ENOENT if `from` is replaced during the call. Then the new file is moved instead.
    if (systemErrorCode(error) === 'ENOENT' && (await identityOf(from)) !== source)
      return renameToNew(from, to, temporary);
    // A file with one link has only one name: `from` and `to` are two spellings of it. Unlinking either would delete
    // the file.
    if (systemErrorCode(error) !== 'EEXIST' || (await lstat(from)).nlink === 1) throw error;
    if (!(await isLeftBehind(from, to, source))) throw error;
    isOurs = false;
  }
  const taken = await temporary.name();
  try {
    await rename(from, taken);
  } catch (error) {
    // Another caller moved or removed the file first. Remove the new link, so that only one caller succeeds.
    if (isOurs && systemErrorCode(error) === 'ENOENT' && (await identityOf(to)) === source) await unlink(to);
    throw error;
  }
  // Check the file only after it was renamed away: if another program has replaced `from` meanwhile, restore the new
  // file.
  const identity = await identityOf(taken);
  if (identity === source || identity === (await identityOf(to))) await unlink(taken);
  else await restoreFile(taken, from);
}

/** Milliseconds within which a concurrent caller of `renameToNew` completes its second step. */
const MOVE_TIME = 2000;

/**
 * Returns whether both names belong to one file because an earlier move was interrupted. Checks again after
 * `MOVE_TIME`, to exclude a concurrent move that is still in progress.
 */
async function isLeftBehind(from: string, to: string, source: string): Promise<boolean> {
  const isBoth = async () => {
    try {
      return (await identityOf(to)) === source && (await identityOf(from)) === source;
    } catch (error) {
      // One of the names was removed meanwhile. `to` existed at the time of the link, so EEXIST is still the result.
      if (systemErrorCode(error) === 'ENOENT') return false;
      throw error;
    }
  };
  if (!(await isBoth())) return false;
  await delay(MOVE_TIME);
  return isBoth();
}

/**
 * Renames the temporary file `taken` back to `name`. If another file has the name meanwhile, that file counts as the
 * newer version, and `taken` is removed.
 */
export async function restoreFile(taken: PathLike, name: PathLike): Promise<void> {
  try {
    await link(taken, name);
    await unlink(taken);
  } catch (error) {
    if (LINKS_REFUSED.has(systemErrorCode(error) ?? '')) await rename(taken, name);
    else if (systemErrorCode(error) === 'EEXIST') await unlink(taken);
    else throw error;
  }
}

/** Returns whether a rename or link failed because the destination exists. */
export const isNameTaken = (error: unknown): boolean => IS_TAKEN.has(systemErrorCode(error) ?? '');

const IS_TAKEN = new Set(['EEXIST', 'ENOTEMPTY']);

// File systems without hard links (FAT, some network file systems). On Linux, also hard links to files of other users
// (`fs.protected_hardlinks`).
const LINKS_REFUSED = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

async function renameUnlessPresent(from: string, to: string): Promise<void> {
  const present = await lstat(to).catch(() => undefined);
  if (present) throw Object.assign(new Error(`EEXIST: ${to}`), { code: 'EEXIST' });
  await rename(from, to);
}

async function identityOf(path: string): Promise<string> {
  const { dev, ino } = await lstat(path, { bigint: true });
  return `${dev}:${ino}`;
}

/**
 * Renames the temporary folder `taken` back to `name`. If another folder has the name meanwhile, merges into it: its
 * own files win. Rejects if a file or link has the name; what was not restored then remains in `taken`.
 */
export async function restoreFolder(taken: Buffer, name: Buffer): Promise<void> {
  try {
    await rename(taken, name);
  } catch (error) {
    if (!isNameTaken(error)) throw error;
    await merge(taken, name);
    await rmdir(taken);
  }
}

async function merge(taken: Buffer, name: Buffer): Promise<void> {
  await using from = await openDirHandle(taken);
  await using to = await openDirHandle(name);
  for (const child of await from.children()) {
    const [source, target] = [from.at(child.name), to.at(child.name)];
    await (child.isDirectory() ? restoreFolder(source, target) : restoreFile(source, target));
  }
}
