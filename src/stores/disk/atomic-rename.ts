import type { BigIntStats } from 'node:fs';
import { link, lstat, rename, unlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { systemErrorCode } from '../../model/error.ts';
import { type FilePath, type FolderPath, nameOf } from '../../model/path.ts';
import { kindConflict } from '../../model/store-errors.ts';
import { toStoreError } from './errors.ts';
import type { Folder } from './folder.ts';
import { areLinksRefused } from './recovery.ts';
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
export async function findFile(folder: Folder, path: FilePath): Promise<BigIntStats | undefined> {
  const found = await folder.find(nameOf(path));
  if (found && !found.isFile()) throw kindConflict(path);
  return found;
}

/** Returns the stats of a folder; undefined if the name is free. Throws `wrong-kind` if it is not a folder. */
export async function findFolder(folder: Folder, path: FolderPath): Promise<BigIntStats | undefined> {
  const found = await folder.find(nameOf(path));
  if (found && !found.isDirectory()) throw kindConflict(path);
  return found;
}

/**
 * Moves the file `from` to `to`, both absolute, without replacing anything: `link(2)`, then removal of the old name.
 * The file has at least one of the two names at any moment. After an interruption between the two steps, calling it
 * again completes the move. Throws EEXIST if `to` exists. If several callers move the same file, one succeeds and the
 * others get ENOENT. `path` is the file that `from` belongs to. `sync` makes the name `to` durable. It is called before
 * the last other name is removed, so that a power failure in between leaves the file with a name. Omit it for a file whose
 * content can be lost before the caller syncs `to`.
 */
export async function renameToNew(
  from: string,
  to: string,
  path: FilePath,
  { temporary, sync }: { readonly temporary: Temporary; readonly sync?: () => Promise<void> },
): Promise<void> {
  const source = await identityOf(from);
  let isOurs = true;
  try {
    await link(from, to);
  } catch (error) {
    if (areLinksRefused(error)) {
      await renameUnlessPresent(from, to);
      return sync?.();
    }
    // link(2) also fails with ENOENT if `from` is replaced during the call. Then the new file is moved instead.
    if (systemErrorCode(error) === 'ENOENT' && (await identityOf(from)) !== source)
      return renameToNew(from, to, path, { temporary, ...(sync && { sync }) });
    // A file with one link has only one name: `from` and `to` are two spellings of it. Unlinking either would delete
    // the file.
    if (systemErrorCode(error) !== 'EEXIST' || (await lstat(from)).nlink === 1) throw error;
    if (!(await isInterruptedMove(from, to, source))) throw error;
    isOurs = false;
  }
  const movedPath = await temporary.nameOfMoved();
  try {
    await rename(from, movedPath);
  } catch (error) {
    // Another caller moved or removed the file first. Remove the new link, so that only one caller succeeds.
    if (isOurs && systemErrorCode(error) === 'ENOENT' && (await identityOf(to)) === source) await unlink(to);
    throw error;
  }
  // Check the file only after it was renamed away: if another program has replaced `from` meanwhile, restore the new
  // file.
  const identity = await identityOf(movedPath);
  const isMoved = identity === source || identity === (await identityOf(to).catch(() => undefined));
  if (!isMoved) return temporary.recovery.restoreFile(movedPath, from, path);
  await sync?.();
  await unlink(movedPath);
}

/**
 * Gives a temporary file, which nothing else uses, its final name. Throws EEXIST if the name is taken. Two system calls,
 * a third of those of `renameToNew`. After an interruption between them, the temporary name is removed as orphaned.
 */
export async function renameTemporaryToNew(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (areLinksRefused(error)) return renameUnlessPresent(from, to);
    throw error;
  }
  await unlink(from);
}

/** Milliseconds within which a concurrent caller of `renameToNew` completes its second step. */
const MAX_MOVE_DURATION_MS = 2000;

/**
 * Returns whether both names belong to one file because an earlier move was interrupted. Checks again after
 * `MAX_MOVE_DURATION_MS`, to exclude a concurrent move that is still in progress.
 */
async function isInterruptedMove(from: string, to: string, source: string): Promise<boolean> {
  const isOneFile = async () => {
    try {
      return (await identityOf(to)) === source && (await identityOf(from)) === source;
    } catch (error) {
      // One of the names was removed meanwhile. `to` existed at the time of the link, so EEXIST is still the result.
      if (systemErrorCode(error) === 'ENOENT') return false;
      throw error;
    }
  };
  if (!(await isOneFile())) return false;
  await delay(MAX_MOVE_DURATION_MS);
  return isOneFile();
}

async function renameUnlessPresent(from: string, to: string): Promise<void> {
  const present = await lstat(to).catch(() => undefined);
  if (present) throw Object.assign(new Error(`EEXIST: ${to}`), { code: 'EEXIST' });
  await rename(from, to);
}

async function identityOf(path: string): Promise<string> {
  const { dev, ino } = await lstat(path, { bigint: true });
  return `${dev}:${ino}`;
}
