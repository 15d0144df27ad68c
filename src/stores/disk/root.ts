import { type BigIntStats, constants } from 'node:fs';
import { access, lstat, mkdir, realpath, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { isStoreError, StoreError, systemErrorCode } from '../../model/error.ts';
import { EXACT_NAMES, foldingNames, type NameComparison } from '../../model/name-comparison.ts';
import { type FilePath, type FolderPath, parentOf, ROOT, withoutSlash } from '../../model/path.ts';
import { kindConflict, notFound } from '../../model/store-errors.ts';
import type { MaybePromise } from './blocking-budget.ts';
import { MAX_SEGMENT_BYTES, segmentTooLong, toStoreError } from './errors.ts';
import { isLocalFileSystem, mayHaveAliases, tellsStores } from './file-system-type.ts';
import { asFolder, createFolderSync, type Folder, isAt } from './folder.ts';
import { createRecentFiles, type RecentFiles } from './recent-files.ts';
import { isReservedName, possibleAliases, probeNames, RESERVED_FOLDER } from './reserved-names.ts';
import { createLikelyCached, type LikelyCached } from './sync-syscalls.ts';
import type { Syscalls } from './syscalls.ts';
import { createSystem, type System } from './system.ts';

/**
 * The served folder. Everything in it is opened through this interface, which follows no symbolic link in any segment
 * of a path. It opens first and then compares the result with the intended path. A link created between a check and an
 * open has therefore no effect.
 */
export interface Root {
  /** The absolute path, without symbolic links. */
  readonly path: string;
  /** How the file system compares names. */
  readonly names: NameComparison;
  /** The system calls for this disk. */
  readonly system: System;
  /** The cache of recently opened files. */
  readonly recent: RecentFiles;
  /** Throws `unavailable` if `path` leads to another folder than at the start, for example after an unmount. */
  requireSame(): Promise<void>;
  /** Opens a file for reading. Throws `not-found` if it does not exist or is not a regular file. */
  openFile(file: FilePath): Promise<OpenFile>;
  /** Opens a folder. Throws `not-found` if it does not exist or is not a folder. */
  openFolder(folder: FolderPath): Promise<Folder>;
  /** Opens a folder and creates it and its parents if missing. Throws `wrong-kind` if a segment is not a folder. */
  makeFolder(folder: FolderPath): Promise<Folder>;
  /**
   * Opens the parent folder of a path. Throws `not-found` about the path if the parent does not exist, or if the path
   * is in Holdall's own folder.
   */
  openParent(path: FilePath | FolderPath): Promise<Folder>;
  /**
   * Opens the parent folder of a path and creates it if missing, as `makeFolder` does. Throws `not-found` if the path
   * is in Holdall's own folder.
   */
  makeParent(path: FilePath | FolderPath): Promise<Folder>;
}

/** A file that is open for reading. It remains the same file even if its name is given to another one. */
export interface OpenFile extends AsyncDisposable {
  /** File descriptor. */
  readonly number: number;
  /** The stats at the time of opening. */
  readonly stats: BigIntStats;
  /** The system calls for reading: synchronous if the content is likely cached. */
  readonly calls: Syscalls;
  /** The thread pool calls, for reading more than the page cache is likely to hold. */
  readonly callsAside: Syscalls;
  /** Records how many milliseconds the slowest read took. */
  noteRead(milliseconds: number): void;
  close(): MaybePromise<void>;
}

// Without O_NONBLOCK, opening a FIFO blocks until a program opens it for writing (fifo(7)).
const FILE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;

/** Maximum attempts to create a folder while other programs remove its parents. */
const MAKE_ATTEMPTS = 5;

/** Opens a folder as the root. `threads` is the size of libuv's thread pool. */
async function openRoot(folder: string, threads: number): Promise<Root> {
  const names = foldingNames(await probeNames(folder));
  const path = await realpath(folder);
  const { type } = await statfs(path);
  const system = createSystem({ isLocal: isLocalFileSystem(type), threads });
  const [opened, read, listed] = [createLikelyCached(), createLikelyCached(), createLikelyCached()];
  // `fstat` of an open folder needs no disk access, so it runs synchronously. The sync itself always runs in the thread
  // pool.
  const syncFolder = createFolderSync(system.sync);
  const prefix = join(path, '/');
  const absolute = (inside: FilePath | FolderPath) => (inside === ROOT ? path : prefix + withoutSlash(inside));
  const callsFor = (familiar: LikelyCached, place: string) => (familiar.has(place) ? system.sync : system.threadpool);

  const identity = await stat(path, { bigint: true });
  const requireIdentity = (found: BigIntStats | undefined) => {
    if (found?.ino !== identity.ino || found.dev !== identity.dev) throw rootIsGone(path);
  };
  const requireSame = async () => requireIdentity(await stat(path, { bigint: true }).catch(() => undefined));

  /**
   * Throws `not-found` for another name of Holdall's own folder that the spelling does not reveal, such as a short name
   * (`HOLDAL~1`) or a bind mount. Both names then have the same inode.
   */
  const requireForeign = async (calls: Syscalls, inside: FilePath | FolderPath) => {
    const [first = ''] = inside.split('/', 1);
    const [found, own] = await calls.lookUpAll([prefix + first, prefix + RESERVED_FOLDER]);
    if (found && own && found.ino === own.ino && found.dev === own.dev) throw notFound(inside);
  };

  /**
   * Throws `not-found` for a path with a segment that exists but is missing from the listing of its folder. Such an
   * alias would bypass the grants for the listed name.
   */
  const requireListed = async (inside: FilePath | FolderPath) => {
    if (names === EXACT_NAMES && !mayHaveAliases(type)) return;
    for (const { parent, name } of possibleAliases(inside)) {
      // If the name does not exist, or a parent is a file, it is not an alias.
      if (!(await isThere(system.threadpool, join(path, parent, name)))) continue;
      let isListed = false;
      await system.threadpool.readFolder(prefix + parent, { isLarge: true }, (entry) => {
        isListed ||= names.certain(entry.name.toString()) === names.certain(name);
      });
      if (!isListed) throw notFound(inside);
    }
  };

  /**
   * Opens `inside` and verifies that the result is at that path. Returns the result of `check` as `found`. Throws
   * `not-found` if `check` returns undefined.
   */
  const openVerified = async <Found>(
    inside: FilePath | FolderPath,
    flags: number,
    check: (calls: Syscalls, number: number) => MaybePromise<Found | undefined>,
  ): Promise<{ number: number; found: Found; calls: Syscalls }> => {
    requireAddressable(inside);
    const started = performance.now();
    const calls = callsFor(opened, inside);
    let number: number;
    try {
      number = await calls.open(absolute(inside), flags);
    } catch (error) {
      await requireSame();
      throw toStoreError(error, inside);
    }
    try {
      if (inside === ROOT) requireIdentity(await calls.statOpen(number));
      const found = await check(calls, number);
      if (found === undefined || !(await isAt(calls, number, absolute(inside), names))) throw notFound(inside);
      // A file directly in the root can't be, or be in, Holdall's own folder.
      if (inside.includes('/')) await requireForeign(calls, inside);
      await requireListed(inside);
      if (calls === system.threadpool) opened.note(inside, performance.now() - started);
      return { number, found, calls };
    } catch (error) {
      await calls.close(number);
      throw toStoreError(error, inside);
    }
  };

  const openFolder = async (inside: FolderPath) => {
    const { number, calls } = await openVerified(inside, FOLDER_FLAGS, () => true);
    const listing = callsFor(listed, inside);
    const noteListed = (milliseconds: number) => listed.note(inside, milliseconds);
    return asFolder(number, absolute(inside), { calls, listing, noteListed, syncFolder });
  };

  const makeOnce = async (target: FolderPath): Promise<Folder> => {
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

  const makeFolder = async (target: FolderPath): Promise<Folder> => {
    requireAddressable(target);
    for (let attempt = 1; ; attempt++) {
      try {
        return await makeOnce(target);
      } catch (error) {
        // A parent was removed after it was created or opened.
        if (!isStoreError(error, 'not-found') || attempt === MAKE_ATTEMPTS) throw error;
      }
    }
  };

  /** Throws if a path must not be used: Holdall's own folder, an alias, or a name that is too long. */
  const requireUsable = async (inside: FilePath | FolderPath) => {
    requireAddressable(inside);
    // For all other paths, opening the parent folder checks the first segment.
    if (parentOf(inside) === ROOT && inside !== ROOT) await requireForeign(callsFor(opened, inside), inside);
    await requireListed(inside);
  };

  return {
    path,
    names,
    system,
    requireSame,
    recent: createRecentFiles({ system, tellsStores: tellsStores(type), absolute }),
    openFolder,
    makeFolder,

    async openParent(inside) {
      await requireUsable(inside);
      return openFolder(parentOf(inside)).catch((error: unknown) => {
        throw isStoreError(error, 'not-found') ? notFound(inside, error) : error;
      });
    },

    async makeParent(inside) {
      await requireUsable(inside);
      return makeFolder(parentOf(inside));
    },

    async openFile(file) {
      const { number, found, calls } = await openVerified(file, FILE_FLAGS, statsOfFile);
      return {
        number,
        stats: found,
        calls: callsFor(read, file),
        callsAside: system.threadpool,
        noteRead: (milliseconds) => read.note(file, milliseconds),
        close: () => calls.close(number),
        [Symbol.asyncDispose]: async () => calls.close(number),
      };
    },
  };
}

const isThere = (calls: Syscalls, path: string): Promise<boolean> =>
  Promise.resolve(calls.lookUp(path)).then(
    (found) => found !== undefined,
    () => false,
  );

async function statsOfFile(calls: Syscalls, number: number): Promise<BigIntStats | undefined> {
  const stats = await calls.statOpen(number);
  return stats.isFile() ? stats : undefined;
}

/**
 * Throws `not-found` for paths in Holdall's own folder, and `invalid-path` for a name that is too long. The system
 * reports the latter only if the parent folder exists.
 */
function requireAddressable(path: FilePath | FolderPath): void {
  // A UTF-16 code unit takes at most three bytes of UTF-8, so most paths need not be split.
  const mayBeTooLong = path.length * 3 > MAX_SEGMENT_BYTES;
  if (mayBeTooLong && path.split('/').some((name) => Buffer.byteLength(name) > MAX_SEGMENT_BYTES)) {
    throw segmentTooLong(path);
  }
  if (isReservedName(path.split('/', 1)[0] ?? '')) throw notFound(path);
}

async function makeIn(parent: Folder, name: string, inside: FolderPath): Promise<void> {
  try {
    await mkdir(parent.at(name));
    await parent.sync();
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw toStoreError(error, inside);
    const present = await lstat(parent.at(name)).catch(() => undefined);
    if (present && !present.isDirectory()) throw kindConflict(inside, error);
  }
}

/**
 * Opens a folder as the root and creates it if missing. `threads` is the size of libuv's thread pool. Throws `denied`
 * with a one-line message for the operator if the folder can't be used.
 */
export async function makeRoot(folder: string, threads: number): Promise<Root> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return await openRoot(folder, threads);
  } catch (error) {
    throw unusableRoot(folder, error);
  }
}

/** Returns an `unavailable` error: the root was unmounted or replaced. It must not look like an empty folder. */
function rootIsGone(path: string): StoreError {
  const message = `The folder ${path} (DISK_ROOT) is not the one that it was at the start: see whether its disk is mounted, or start the service anew.`;
  return new StoreError('store-unreachable', message, { retryAfter: 5 });
}

/** Returns a `denied` error with a one-line message for the operator: why the folder can't be used as the root. */
export function unusableRoot(folder: string, error: unknown): StoreError {
  const known = toStoreError(error, ROOT);
  const reason = isStoreError(known, 'unavailable') || isStoreError(known, 'denied') ? known : error;
  const text = reason instanceof Error ? reason.message : String(reason);
  return new StoreError('denied', `DISK_ROOT ${folder} can't be used: ${text}`, { cause: error });
}
