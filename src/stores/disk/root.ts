import { constants } from 'node:fs';
import { access, type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isStoreError, StoreError } from '../../domain/error.ts';
import { type FilePath, type FolderPath, parentOf, ROOT, withoutSlash } from '../../domain/path.ts';
import { notFound, otherKindInTheWay } from '../../domain/problems.ts';
import { codeOf } from '../../domain/system-error.ts';
import { MAX_SEGMENT_BYTES, segmentTooLong, translate } from './translate.ts';

/** The folder under the root that is the service's own: never listed, never addressed. */
export const OWN_FOLDER = '.holdall';

/**
 * The folder that is served, and the only way to open anything in it. Symbolic links are not followed, in no
 * segment of a path: what was opened is held against the name that was meant, so that a link put in the way
 * between a check and an opening gains nothing.
 */
export interface Root {
  /** The absolute path, without symbolic links. */
  readonly path: string;
  /** Opens a file for reading. `not-found` for everything that is no regular file. */
  openFile(file: FilePath): Promise<FileHandle>;
  /** Opens a folder. `not-found` for everything that is no folder. */
  openFolder(folder: FolderPath): Promise<Folder>;
  /** Opens a folder, making it and its parents. `wrong-kind` where something else is in the way. */
  makeFolder(folder: FolderPath): Promise<Folder>;
  /** Opens the folder that a path is in. Without it, and for what is the service's own, the path is `not-found`. */
  openParent(path: FilePath | FolderPath): Promise<Folder>;
  /** Opens the folder that a path is in as `makeFolder` does, and refuses as `openParent`. */
  makeParent(path: FilePath | FolderPath): Promise<Folder>;
}

/** An open folder. It stays the same one, whatever happens to the names on the way to it. */
export interface Folder extends AsyncDisposable {
  /** The path of a name in this folder, for calls that take a path and don't follow a link in its last segment. */
  at(name: string): string;
  /** The folder's own path, for reading its names. */
  readonly path: string;
  /** Makes what was done to the folder's names survive a loss of power. */
  sync(): Promise<void>;
}

// A FIFO would hold up its opening until somebody writes to it, but for O_NONBLOCK.
const FILE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;

export async function openRoot(folder: string): Promise<Root> {
  const path = await realpath(folder);
  const absolute = (inside: FilePath | FolderPath) => (inside === ROOT ? path : join(path, withoutSlash(inside)));

  const openVerified = async (inside: FilePath | FolderPath, flags: number): Promise<FileHandle> => {
    requireAddressable(inside);
    const handle = await open(absolute(inside), flags).catch((error: unknown) => {
      throw translate(error, inside);
    });
    try {
      const isRight = flags === FOLDER_FLAGS || (await handle.stat()).isFile();
      if (isRight && (await isAt(handle, absolute(inside)))) return handle;
      throw notFound(inside);
    } catch (error) {
      await handle.close();
      throw translate(error, inside);
    }
  };

  const openFolder = async (inside: FolderPath) => asFolder(await openVerified(inside, FOLDER_FLAGS), absolute(inside));

  const makeFolder = async (target: FolderPath): Promise<Folder> => {
    requireAddressable(target);
    try {
      return await openFolder(target);
    } catch (error) {
      if (!isStoreError(error, 'not-found')) throw error;
    }
    let current = await openFolder(ROOT);
    let inside: FolderPath = ROOT;
    for (const name of withoutSlash(target).split('/')) {
      await using parent = current;
      inside = `${inside}${name}/` as FolderPath;
      await makeIn(parent, name, inside);
      current = await openFolder(inside);
    }
    return current;
  };

  return {
    path,
    openFolder,
    makeFolder,

    async openParent(inside) {
      requireAddressable(inside);
      return openFolder(parentOf(inside)).catch((error: unknown) => {
        throw isStoreError(error, 'not-found') ? notFound(inside, error) : error;
      });
    },

    async makeParent(inside) {
      requireAddressable(inside);
      return makeFolder(parentOf(inside));
    },

    openFile: (file) => openVerified(file, FILE_FLAGS),
  };
}

/**
 * Throws `not-found` for what lies in the service's own folder, and `invalid-path` for a name that is too long: the
 * system would say so only where the folder of that name is there.
 */
function requireAddressable(path: FilePath | FolderPath): void {
  if (path.split('/').some((name) => Buffer.byteLength(name) > MAX_SEGMENT_BYTES)) throw segmentTooLong(path);
  if (path === OWN_FOLDER || path.startsWith(`${OWN_FOLDER}/`)) throw notFound(path);
}

async function makeIn(parent: Folder, name: string, inside: FolderPath): Promise<void> {
  try {
    await mkdir(parent.at(name));
    await parent.sync();
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw translate(error, inside);
    const present = await lstat(parent.at(name)).catch(() => undefined);
    if (present && !present.isDirectory()) throw otherKindInTheWay(inside, error);
  }
}

function asFolder(handle: FileHandle, absolute: string): Folder {
  const path = pathOfOpen(handle, absolute);
  return {
    path,
    at: (name) => `${path}/${name}`,
    sync: () => handle.sync(),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

const HAS_PROC = process.platform === 'linux';

/** A path to what is open, which does not depend on names where the system has such paths: as openat(2). */
export function pathOfOpen(handle: FileHandle, absolute: string): string {
  return HAS_PROC ? `/proc/self/fd/${handle.fd}` : absolute;
}

/**
 * Whether what was opened is at `absolute`, without a link on the way. A file that was replaced or removed
 * since is still the one that was asked for: Linux then adds " (deleted)" to its name.
 */
async function isAt(handle: FileHandle, absolute: string): Promise<boolean> {
  if (HAS_PROC) {
    const actual = await readlink(`/proc/self/fd/${handle.fd}`);
    return actual === absolute || actual === `${absolute} (deleted)`;
  }
  const [opened, named, actual] = await Promise.all([handle.stat(), lstat(absolute), realpath(absolute)]);
  return actual === absolute && opened.dev === named.dev && opened.ino === named.ino;
}

/** Says in one line why a folder can't be the root, for the person who set it. */
export async function makeRoot(folder: string): Promise<Root> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return await openRoot(folder);
  } catch (error) {
    throw unusableRoot(folder, error);
  }
}

/** Why a folder can't be the root, in one line for the person who set it. */
export function unusableRoot(folder: string, error: unknown): StoreError {
  const known = translate(error, ROOT);
  const reason = isStoreError(known, 'unavailable') || isStoreError(known, 'denied') ? known : error;
  const text = reason instanceof Error ? reason.message : String(reason);
  return new StoreError('denied', `DISK_ROOT ${folder} can't be used: ${text}`, { cause: error });
}
