import type { BigIntStats, PathLike } from 'node:fs';
import { link, lstat, rename, rmdir, unlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCode } from '../../model/error.ts';
import { type FilePath, type FolderPath, nameOf } from '../../model/path.ts';
import { kindConflict } from '../../model/store-errors.ts';
import { toStoreError } from './errors.ts';
import { type Folder, openDirHandle } from './folder.ts';
import type { Root } from './root.ts';
import type { Temporary } from './temporary.ts';

/** Runs `task` in the folder that `path` is in. Errors of the file system are about `path`. */
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

/** What is at the place of a file: its stats, or undefined. `wrong-kind` for everything that is no regular file. */
export async function lookUpFile(folder: Folder, path: FilePath): Promise<BigIntStats | undefined> {
  const found = await folder.lookUp(nameOf(path));
  if (found && !found.isFile()) throw kindConflict(path);
  return found;
}

/** As `lookUpFile`, at the place of a folder. */
export async function lookUpFolder(folder: Folder, path: FolderPath): Promise<BigIntStats | undefined> {
  const found = await folder.lookUp(nameOf(path));
  if (found && !found.isDirectory()) throw kindConflict(path);
  return found;
}

/**
 * Moves the file `from` to the name `to`, only where nothing has that name: EEXIST otherwise. It has one of the
 * two names at every moment, and for one both. Called again after it was cut short there, it completes. Of several
 * that want one file at once, one gets it; for the others it is gone (ENOENT).
 */
export async function renameToNew(from: string, to: string, temporary: Temporary): Promise<void> {
  const source = await identityOf(from);
  let isOurs = true;
  try {
    await link(from, to);
  } catch (error) {
    if (LINKS_REFUSED.has(errorCode(error) ?? '')) return renameUnlessPresent(from, to);
    // link(2) says so too of a file that another one replaces in that moment.
    if (errorCode(error) === 'ENOENT' && (await identityOf(from)) !== source) return renameToNew(from, to, temporary);
    // A file with one link has one name, found under two spellings: to unlink one of them would remove the file.
    if (errorCode(error) !== 'EEXIST' || (await lstat(from)).nlink === 1) throw error;
    if (!(await isLeftBehind(from, to, source))) throw error;
    isOurs = false;
  }
  const taken = await temporary.name();
  try {
    await rename(from, taken);
  } catch (error) {
    // Somebody else moved or removed it first, and so it is not for us to have it.
    if (isOurs && errorCode(error) === 'ENOENT' && (await identityOf(to)) === source) await unlink(to);
    throw error;
  }
  // The old name is looked at after it was taken: if a new file was given it meanwhile, that one gets it back.
  const identity = await identityOf(taken);
  if (identity === source || identity === (await identityOf(to))) await unlink(taken);
  else await restoreFile(taken, from);
}

/** Milliseconds within which whoever is between the two halves of a move will have done the second. */
const MOVE_TIME = 2000;

/** Whether both names are still of one file when everybody who could be at work between them has had time to end. */
async function isLeftBehind(from: string, to: string, source: string): Promise<boolean> {
  const isBoth = async () => {
    try {
      return (await identityOf(to)) === source && (await identityOf(from)) === source;
    } catch (error) {
      // What was in the way has gone since: it was in the way all the same.
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    }
  };
  if (!(await isBoth())) return false;
  await delay(MOVE_TIME);
  return isBoth();
}

/** Gives a file that was taken its name back, unless a newer one has it by now: then it was replaced. */
export async function restoreFile(taken: PathLike, name: PathLike): Promise<void> {
  try {
    await link(taken, name);
    await unlink(taken);
  } catch (error) {
    if (LINKS_REFUSED.has(errorCode(error) ?? '')) await rename(taken, name);
    else if (errorCode(error) === 'EEXIST') await unlink(taken);
    else throw error;
  }
}

/** Whether a name could not be given because something has it. */
export const isNameTaken = (error: unknown): boolean => IS_TAKEN.has(errorCode(error) ?? '');

const IS_TAKEN = new Set(['EEXIST', 'ENOTEMPTY']);

// File systems without hard links (FAT, some over the network), and links to other people's files on Linux.
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
 * Gives a folder that was put aside its name back; where somebody has made another one meanwhile, what is not in that.
 * Rejects where something else has the name, and leaves there what could not be given back.
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
