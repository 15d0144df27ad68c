import type { BigIntStats } from 'node:fs';
import { link, lstat, readdir, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemErrorCode } from '../../model/error.ts';
import { foldNames } from '../../model/name-comparison.ts';
import { type FilePath, type FolderPath, isFolder, nameOf } from '../../model/path.ts';
import { kindConflict } from '../../model/store-errors.ts';
import { toStoreError } from './errors.ts';
import type { Folder } from './folder.ts';
import { isSameInode } from './metadata.ts';
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

export interface RenameToNewOptions {
  readonly temporary: Temporary;
  /**
   * Makes the name `to` durable. It is called before the last other name is removed, so that a power failure in between
   * leaves the file with a name. Omit it for a file whose content can be lost before the caller syncs `to`.
   */
  readonly sync?: () => Promise<void>;
  /**
   * The source and the destination as the client named them, of a file that can have other hard links of users. Omit it
   * for a file in Holdall's own folder, of which `to` can only be a name because a move was interrupted.
   */
  readonly move?: readonly [from: string, to: string];
  /** Whether another hard link of the file at `to` can be replaced. The file then loses the name `from`. */
  readonly replace?: boolean;
}

/**
 * Moves the file `from` to `to`, both absolute, without replacing anything: `link(2)`, then removal of the old name.
 * The file has at least one of the two names at any moment. After an interruption between the two steps, calling it
 * again completes the move. Throws EEXIST if `to` exists. If several callers move the same file, one succeeds and the
 * others get ENOENT. `path` is the file that `from` belongs to.
 */
export async function renameToNew(
  from: string,
  to: string,
  path: FilePath,
  options: RenameToNewOptions,
): Promise<void> {
  const { temporary, move } = options;
  const source = await identityOf(from);
  const record = move && [source, ...move];
  const isRecorded = record === undefined || (await temporary.moves.add(record));
  try {
    await linkThenUnlink(from, to, path, { ...options, source, isRecorded });
  } catch (error) {
    // With both names, the record lets the next call complete the move.
    if (error instanceof HalfMoved) throw error.cause;
    if (record) await temporary.moves.remove(record);
    throw error;
  }
  if (record) await temporary.moves.remove(record);
}

/** The error of a move after which the file has both names. Its cause is the reason. */
class HalfMoved extends Error {}

/** `isRecorded`: if `from` and `to` are two names of one file, it can be because the same move was interrupted. */
async function linkThenUnlink(
  from: string,
  to: string,
  path: FilePath,
  options: RenameToNewOptions & { readonly source: string; readonly isRecorded: boolean },
): Promise<void> {
  const { temporary, sync, source } = options;
  // Before the link: without a temporary folder, nothing must change.
  const movedPath = await temporary.nameOfMoved();
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
      return renameToNew(from, to, path, options);
    // A file with one link has only one name: `from` and `to` are two spellings of it. Unlinking either would delete
    // the file.
    if (systemErrorCode(error) !== 'EEXIST' || (await lstat(from)).nlink === 1) throw error;
    if (!(await isOtherLink(from, to, options))) throw error;
    isOurs = false;
  }
  const isMoved = async (name: string) => {
    const identity = await identityOf(name);
    return identity === source || identity === (await identityOf(to).catch(() => undefined));
  };
  try {
    if (!(await renameWithinDevice(from, movedPath))) {
      // On a file system that is mounted below the root, only other programs can replace the file before the removal.
      if (!(await isMoved(from))) return;
      await sync?.();
      return await unlink(from);
    }
  } catch (error) {
    // Another caller moved or removed the file first, or the disk failed. Remove the new link, so that only one caller succeeds.
    if (isOurs) await undoLink(from, to, { source, cause: error });
    throw error;
  }
  // Check the file only after it was renamed away: if another program has replaced `from` meanwhile, restore the new
  // file.
  if (!(await isMoved(movedPath))) return temporary.recovery.restoreFile(movedPath, from, path);
  await sync?.();
  await unlink(movedPath);
}

/**
 * Removes the new name of a file, because a move failed to remove the old one. `cause` is the error of the move. It is ENOENT if
 * the file has lost the old name. After any other error, the old name can be gone too: then the new one remains.
 */
async function undoLink(
  from: string,
  to: string,
  { source, cause }: { readonly source: string; readonly cause: unknown },
): Promise<void> {
  try {
    const canUndo = systemErrorCode(cause) === 'ENOENT' || (await identityOf(from)) === source;
    if (canUndo && (await identityOf(to)) === source) await unlink(to);
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw new HalfMoved('The file has both names.', { cause });
  }
}

/** Renames a file. Returns false, and changes nothing, if `to` is on another file system. */
async function renameWithinDevice(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'EXDEV') return false;
    throw error;
  }
}

/**
 * Renames a file or folder to another spelling of its name, which the file system treats as equal. `from` and `to` are
 * absolute. If the process ends in between, the item waits in the recovery folder.
 */
export async function respell(
  from: string,
  to: string,
  path: FilePath | FolderPath,
  { recovery }: Pick<Temporary, 'recovery'>,
): Promise<void> {
  // rename(2) does nothing for two names of one inode, which many file systems report for all spellings of a name.
  await rename(from, to);
  if (await isListed(to)) return;
  const moved = await recovery.reserve(nameOf(path));
  await rename(from, moved);
  try {
    await (isFolder(path) ? rename(moved, to) : renameTemporaryToNew(moved, to));
  } catch (error) {
    await (isFolder(path) ? recovery.restoreFolder(moved, from, path) : recovery.restoreFile(moved, from, path));
    throw error;
  } finally {
    await recovery.release(moved);
  }
}

/**
 * Returns whether two existing paths are spellings of one name: they are in one folder, which lists only one name like them.
 * The inode of the file does not tell, because hard links share it, and some file systems report several for one name.
 */
export async function isOneName(from: string, to: string): Promise<boolean> {
  const folded = foldNames(basename(from));
  if (foldNames(basename(to)) !== folded) return false;
  const [source, target] = await Promise.all([dirname(from), dirname(to)].map((each) => stat(each, { bigint: true })));
  if (!target || !isSameInode(source, target)) return false;
  const names = await readdir(dirname(to));
  return names.filter((name) => foldNames(name) === folded).length === 1;
}

async function isListed(path: string): Promise<boolean> {
  return (await readdir(dirname(path))).includes(basename(path));
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
 * Returns whether `to` is another hard link of the file `from`, and `from` can be removed: with `replace`, or because an
 * earlier move was interrupted. If a record says that the move can be in progress in another process, checks again after
 * `MAX_MOVE_DURATION_MS`.
 */
async function isOtherLink(
  from: string,
  to: string,
  { source, isRecorded, replace }: { source: string; isRecorded: boolean; replace?: boolean },
): Promise<boolean> {
  const isOneFile = async () => {
    try {
      return (await identityOf(to)) === source && (await identityOf(from)) === source;
    } catch (error) {
      // One of the names was removed meanwhile. `to` existed at the time of the link, so EEXIST is still the result.
      if (systemErrorCode(error) === 'ENOENT') return false;
      throw error;
    }
  };
  // Two spellings of one name are one link. Removing it would delete the file.
  if (!(await isOneFile()) || (await isOneName(from, to))) return false;
  if (!isRecorded) return replace === true;
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
