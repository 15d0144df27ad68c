import { type BigIntStats, constants } from 'node:fs';
import { access, lstat, mkdir, realpath, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, isStoreError, StoreError } from '../../model/error.ts';
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
 * The folder that is served, and the only way to open anything in it. Symbolic links are not followed, in no
 * segment of a path: what was opened is held against the name that was meant, so that a link put in the way
 * between a check and an opening gains nothing.
 */
export interface Root {
  /** The absolute path, without symbolic links. */
  readonly path: string;
  /** How the file system compares names. */
  readonly names: NameComparison;
  /** How the system is called, for this disk. */
  readonly system: System;
  /** What was found of files a moment ago. */
  readonly recent: RecentFiles;
  /** Rejects where its path leads to another folder than at the start, as when its disk was taken away. */
  requireSame(): Promise<void>;
  /** Opens a file for reading. `not-found` for everything that is no regular file. */
  openFile(file: FilePath): Promise<OpenFile>;
  /** Opens a folder. `not-found` for everything that is no folder. */
  openFolder(folder: FolderPath): Promise<Folder>;
  /** Opens a folder, making it and its parents. `wrong-kind` where something else is in the way. */
  makeFolder(folder: FolderPath): Promise<Folder>;
  /** Opens the folder that a path is in. Without it, and for what is the service's own, the path is `not-found`. */
  openParent(path: FilePath | FolderPath): Promise<Folder>;
  /** Opens the folder that a path is in as `makeFolder` does, and refuses as `openParent`. */
  makeParent(path: FilePath | FolderPath): Promise<Folder>;
}

/** A file that is open for reading. It stays the same one, whatever gets its name. */
export interface OpenFile extends AsyncDisposable {
  readonly number: number;
  /** What it was when it was opened. */
  readonly stats: BigIntStats;
  /** How the system is to be called for its bytes. */
  readonly calls: Syscalls;
  /** And for more of them than the system may have in memory. */
  readonly callsAside: Syscalls;
  /** Tells in how many milliseconds they came, in the longest wait for some. */
  noteRead(milliseconds: number): void;
  close(): MaybePromise<void>;
}

// A FIFO would hold up its opening until somebody writes to it, but for O_NONBLOCK.
const FILE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;

/** How often a folder that vanishes again and again while it is made is made anew. */
const MAKE_ATTEMPTS = 5;

/** Opens a folder as the root, with so many `threads` to leave calls to. */
async function openRoot(folder: string, threads: number): Promise<Root> {
  const names = foldingNames(await probeNames(folder));
  const path = await realpath(folder);
  const { type } = await statfs(path);
  const system = createSystem({ isLocal: isLocalFileSystem(type), threads });
  const [opened, read, listed] = [createLikelyCached(), createLikelyCached(), createLikelyCached()];
  // What is open is told from memory; the syncing itself is left to threads all the same.
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
   * Throws `not-found` for another name of Holdall's own folder that its spelling does not give away, such as a short name
   * (`HOLDAL~1`) or a bind mount: both names have one inode then.
   */
  const requireForeign = async (calls: Syscalls, inside: FilePath | FolderPath) => {
    const [first = ''] = inside.split('/', 1);
    const [found, own] = await calls.lookUpAll([prefix + first, prefix + RESERVED_FOLDER]);
    if (found && own && found.ino === own.ino && found.dev === own.dev) throw notFound(inside);
  };

  /**
   * Throws `not-found` for a path with a segment that exists, but not in the listing of its folder: an alias would escape
   * the grants to the name in the listing.
   */
  const requireListed = async (inside: FilePath | FolderPath) => {
    if (names === EXACT_NAMES && !mayHaveAliases(type)) return;
    for (const { parent, name } of possibleAliases(inside)) {
      // Without the name, or with a file in the way, nothing is reached by an alias.
      if (!(await isThere(system.threadpool, join(path, parent, name)))) continue;
      let isListed = false;
      await system.threadpool.readFolder(prefix + parent, { isLarge: true }, (entry) => {
        isListed ||= names.certain(entry.name.toString()) === names.certain(name);
      });
      if (!isListed) throw notFound(inside);
    }
  };

  /** Opens what is to be at `inside`; what `check` says of it goes with it, and undefined is `not-found`. */
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
      // A file in the root is in no folder, and is none.
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
        // One on the way was removed behind its making.
        if (!isStoreError(error, 'not-found') || attempt === MAKE_ATTEMPTS) throw error;
      }
    }
  };

  /** Refuses what nothing may be done to, before its parent folder is opened. */
  const requireUsable = async (inside: FilePath | FolderPath) => {
    requireAddressable(inside);
    // The opening of any other parent folder looks at the first segment.
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
 * Throws `not-found` for paths in Holdall's own folder, and `invalid-path` for a name that is too long: the
 * system reports that only where the parent folder exists.
 */
function requireAddressable(path: FilePath | FolderPath): void {
  // No character has more than three bytes for each of its units: most paths need not be taken apart.
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
    if (errorCode(error) !== 'EEXIST') throw toStoreError(error, inside);
    const present = await lstat(parent.at(name)).catch(() => undefined);
    if (present && !present.isDirectory()) throw kindConflict(inside, error);
  }
}

/** Says in one line why a folder can't be the root, for the person who set it. */
export async function makeRoot(folder: string, threads: number): Promise<Root> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return await openRoot(folder, threads);
  } catch (error) {
    throw unusableRoot(folder, error);
  }
}

/** For people who may see that nothing is there, and must not take it for empty. */
function rootIsGone(path: string): StoreError {
  const message = `The folder ${path} (DISK_ROOT) is not the one that it was at the start: see whether its disk is mounted, or start the service anew.`;
  return new StoreError('unavailable', message, { retryAfter: 5, isOutOfReach: true });
}

/** Why a folder can't be the root, in one line for the person who set it. */
export function unusableRoot(folder: string, error: unknown): StoreError {
  const known = toStoreError(error, ROOT);
  const reason = isStoreError(known, 'unavailable') || isStoreError(known, 'denied') ? known : error;
  const text = reason instanceof Error ? reason.message : String(reason);
  return new StoreError('denied', `DISK_ROOT ${folder} can't be used: ${text}`, { cause: error });
}
