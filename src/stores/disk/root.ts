import { type BigIntStats, constants } from 'node:fs';
import { access, lstat, mkdir, realpath, stat, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isStoreError, StoreError, systemErrorCode, undefinedIfNotFound } from '../../model/error.ts';
import { EXACT_NAMES, type NameComparison } from '../../model/name-comparison.ts';
import {
  type FilePath,
  type FolderPath,
  MAX_KEY_BYTES,
  MAX_PATH_BYTES,
  nameOf,
  parentOf,
  ROOT,
  requireLength,
  withoutSlash,
} from '../../model/path.ts';
import { kindConflict, notFound } from '../../model/store-errors.ts';
import { makeDurableFolder } from '../../system.ts';
import { createLikelyCached, type LikelyCached, type MaybePromise } from './blocking-budget.ts';
import { hasLongSegment, segmentTooLong, toStoreError } from './errors.ts';
import { isLocalFileSystem, mayHaveAliases, probeNames, updatesTimesOfMappedWrites } from './file-system.ts';
import { asFolder, createFolderSync, type Folder, isAt, type SyncFolder } from './folder.ts';
import { requireOwnFolder } from './own-folders.ts';
import { createRecentFiles, type RecentFiles } from './recent-files.ts';
import { hasStagingName, isReservedName, possibleAliases, RESERVED_FOLDER } from './reserved-names.ts';
import { createSystem, type System } from './sync-syscalls.ts';
import type { Syscalls } from './syscalls.ts';

/** A file that is open for reading. It remains the same file even if its name is given to another one. */
export interface OpenFile extends AsyncDisposable {
  /** File descriptor. */
  readonly fd: number;
  /** The absolute path at which it was opened. */
  readonly path: string;
  /** The stats at the time of opening. */
  readonly stats: BigIntStats;
  /** The system calls for reading: synchronous if the content is likely cached. */
  readonly syscalls: Syscalls;
  /** The thread pool calls, for reading more than the page cache is likely to hold. */
  readonly threadpoolSyscalls: Syscalls;
  /** Records how many milliseconds the slowest read took. */
  noteRead(milliseconds: number): void;
  close(): MaybePromise<void>;
}

// Without O_NONBLOCK, opening a FIFO blocks until a program opens it for writing (fifo(7)).
export const FILE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;

/** Maximum attempts to create a folder while other programs remove its parents. */
const MAX_CREATE_ATTEMPTS = 5;

/** The properties of a root that are determined when it is opened. */
interface RootTraits {
  readonly path: string;
  readonly names: NameComparison;
  readonly system: System;
  /** The `statfs` type of its file system. */
  readonly fileSystemType: number;
  /** The stats of the folder at the start. */
  readonly identity: BigIntStats;
}

/**
 * The served folder. Everything in it is opened through this class, which follows no symbolic link in any segment of a
 * path. It opens first and then compares the result with the intended path. A link created between a check and an open
 * has therefore no effect.
 */
export class Root {
  /** The absolute path, without symbolic links. */
  readonly path: string;
  /** How the file system compares names. */
  readonly names: NameComparison;
  /** The system calls for this disk. */
  readonly system: System;
  /** The cache of recently opened files. */
  readonly recent: RecentFiles;
  /** The device number of its file system. */
  readonly device: bigint;
  /** Maximum length of a path in UTF-8 bytes. */
  readonly maxPathBytes: number;
  readonly #prefix: string;
  readonly #identity: BigIntStats;
  /** Whether a path can name a file that no listing contains. */
  readonly #mayHaveAliases: boolean;
  /** The paths whose data of each kind is likely cached: for opening, reading, and listing. */
  readonly #cached = { open: createLikelyCached(), read: createLikelyCached(), list: createLikelyCached() };
  readonly #syncFolder: SyncFolder;
  /** The folders that are being created, by path, until their names are durable. */
  readonly #creations = new Map<FolderPath, Promise<void>>();

  private constructor({ path, names, system, fileSystemType, identity }: RootTraits) {
    this.path = path;
    this.names = names;
    this.system = system;
    this.recent = createRecentFiles({
      system,
      updatesTimesOfMappedWrites: updatesTimesOfMappedWrites(fileSystemType),
      absolute: (file) => this.absolute(file),
    });
    this.maxPathBytes = maxPathBytesBelow(path);
    this.#prefix = join(path, '/');
    this.#identity = identity;
    this.device = identity.dev;
    this.#mayHaveAliases = names !== EXACT_NAMES || mayHaveAliases(fileSystemType);
    // `fstat` of an open folder needs no disk access, so it runs synchronously. The sync itself always runs in the
    // thread pool.
    this.#syncFolder = createFolderSync(system.sync);
  }

  /**
   * Opens a folder as the root and creates it if missing. `threads` is the size of libuv's thread pool. Throws `denied`
   * with a one-line message for the operator if the folder can't be used, and `store-unreachable` if `place` is not that of
   * the folder.
   */
  static async open(
    folder: string,
    { threads, place }: { threads: number; place?: string | undefined },
  ): Promise<Root> {
    const requirePlace = (found: BigIntStats | undefined) => {
      if (place !== undefined && (!found || placeOf(found) !== place)) throw rootReplaced(folder);
    };
    requirePlace(await stat(folder, { bigint: true }).catch(() => undefined));
    try {
      await makeDurableFolder(resolve(folder));
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      const names = await probeNames(folder);
      const path = await realpath(folder);
      const { type } = await statfs(path);
      const system = createSystem({ isLocal: isLocalFileSystem(type), threads });
      const identity = await stat(path, { bigint: true });
      requirePlace(identity);
      return new Root({ path, names, system, fileSystemType: type, identity });
    } catch (error) {
      const code = systemErrorCode(error);
      if (code !== 'EEXIST' && code !== 'ENOTDIR') throw unusableRoot(folder, error);
      throw new StoreError('denied', `DISK_ROOT ${folder} is not a folder. Set it to a folder.`, { cause: error });
    }
  }

  /** Identifies the folder, also for other processes. */
  get place(): string {
    return placeOf(this.#identity);
  }

  /** Throws `unavailable` if `path` leads to another folder than at the start, for example after an unmount. */
  async requireSame(): Promise<void> {
    this.#requireIdentity(await stat(this.path, { bigint: true }).catch(() => undefined));
  }

  #requireIdentity(found: BigIntStats | undefined): void {
    if (found?.ino !== this.#identity.ino || found.dev !== this.#identity.dev) throw rootReplaced(this.path);
  }

  /** Opens a file for reading. Throws `not-found` if it does not exist or is not a regular file. */
  async openFile(file: FilePath): Promise<OpenFile> {
    const { fd, found, syscalls } = await this.#openVerified(file, FILE_FLAGS, statsOfFile);
    return this.#asOpenFile(fd, found, { path: this.absolute(file), key: file, syscalls });
  }

  /**
   * Opens a file in Holdall's own folder for reading. `absolute` is its path. Returns undefined if it does not exist or
   * is not a regular file.
   */
  async openOwnFile(absolute: string): Promise<OpenFile | undefined> {
    const { threadpool } = this.system;
    let fd: number;
    try {
      fd = await threadpool.open(absolute, FILE_FLAGS);
    } catch (error) {
      const translated = toStoreError(error, ROOT);
      if (isStoreError(translated, 'not-found')) return undefined;
      throw translated;
    }
    const stats = await statsOfFile(threadpool, fd);
    if (stats) return this.#asOpenFile(fd, stats, { path: absolute, key: absolute, syscalls: threadpool });
    await threadpool.close(fd);
    return undefined;
  }

  /** `key` identifies the file among those whose content is likely cached. */
  #asOpenFile(
    fd: number,
    stats: BigIntStats,
    { path, key, syscalls }: { path: string; key: string; syscalls: Syscalls },
  ): OpenFile {
    return {
      fd,
      path,
      stats,
      syscalls: this.#syscallsFor(this.#cached.read, key),
      threadpoolSyscalls: this.system.threadpool,
      noteRead: (milliseconds) => this.#cached.read.note(key, milliseconds),
      close: () => syscalls.close(fd),
      [Symbol.asyncDispose]: async () => syscalls.close(fd),
    };
  }

  /** Opens a folder. Throws `not-found` if it does not exist or is not a folder. */
  async openFolder(folder: FolderPath): Promise<Folder> {
    const { fd, syscalls } = await this.#openVerified(folder, FOLDER_FLAGS, () => true);
    return asFolder(fd, this.absolute(folder), {
      syscalls,
      listing: this.#syscallsFor(this.#cached.list, folder),
      noteListed: (milliseconds) => this.#cached.list.note(folder, milliseconds),
      syncFolder: this.#syncFolder,
    });
  }

  /**
   * Opens a folder and creates it and its parents if missing. All of them are then durable, also those that other requests of this
   * process create at the same time. Throws `wrong-kind` if a segment is not a folder.
   */
  async makeFolder(folder: FolderPath): Promise<Folder> {
    requireAddressable(folder, this.maxPathBytes);
    for (let attempt = 1; ; attempt++) {
      try {
        const opened = await this.#openOrCreate(folder);
        await this.#finishCreations(folder, opened);
        return opened;
      } catch (error) {
        // A parent was removed after it was created or opened.
        if (!isStoreError(error, 'not-found') || attempt === MAX_CREATE_ATTEMPTS) throw error;
      }
    }
  }

  /**
   * Opens the parent folder of a path. Throws `not-found` about the path if the parent does not exist, or if the path
   * is in Holdall's own folder.
   */
  async openParent(path: FilePath | FolderPath): Promise<Folder> {
    await this.#requireUsable(path);
    return this.openFolder(parentOf(path)).catch((error: unknown) => {
      throw isStoreError(error, 'not-found') ? notFound(path, error) : error;
    });
  }

  /**
   * Opens the parent folder of a path and creates it if missing, as `makeFolder` does. Throws `not-found` if the path
   * is in Holdall's own folder.
   */
  async makeParent(path: FilePath | FolderPath): Promise<Folder> {
    await this.#requireUsable(path);
    return this.makeFolder(parentOf(path));
  }

  /**
   * Opens the nearest existing folder above a path. Throws the error of `makeParent` if something else has the name of a
   * missing parent. Creates nothing.
   */
  async openNearestParent(path: FilePath | FolderPath): Promise<Folder> {
    await this.#requireUsable(path);
    for (let folder = parentOf(path); ; folder = parentOf(folder)) {
      const opened = folder === ROOT ? await this.openFolder(ROOT) : await undefinedIfNotFound(this.openFolder(folder));
      if (opened) return opened;
      await using above = await undefinedIfNotFound(this.openFolder(parentOf(folder)));
      const found = await above?.find(nameOf(folder));
      if (found && !found.isDirectory()) throw kindConflict(folder);
    }
  }

  /**
   * Throws `disk-error` if a folder of Holdall's own was replaced with anything else, which would be written to or followed.
   * `absolute` is its path.
   */
  async requireOwnFolder(absolute: string): Promise<void> {
    await requireOwnFolder(this.path, absolute, this.system.sync.find);
  }

  /** Creates a folder of Holdall's own durably if it is missing. Throws the errors of `requireOwnFolder`. */
  async makeOwnFolder(absolute: string): Promise<void> {
    await this.requireSame();
    await this.requireOwnFolder(absolute);
    await makeDurableFolder(absolute, 0o700);
  }

  /** Makes earlier changes to the names in a folder of Holdall's own durable. `absolute` is its path. */
  async syncOwnFolder(absolute: string): Promise<void> {
    const { sync } = this.system;
    const folder = await sync.open(absolute, FOLDER_FLAGS);
    try {
      await this.#syncFolder(folder);
    } finally {
      await sync.close(folder);
    }
  }

  async #openOrCreate(folder: FolderPath): Promise<Folder> {
    try {
      return await this.openFolder(folder);
    } catch (error) {
      if (!isStoreError(error, 'not-found')) throw error;
    }
    let current = await this.openFolder(ROOT);
    let path: FolderPath = ROOT;
    for (const name of withoutSlash(folder).split('/')) {
      await using parent = current;
      path = `${path}${name}/` as FolderPath;
      await this.#create(parent, name, path);
      current = await this.openFolder(path);
    }
    return current;
  }

  async #create(parent: Folder, name: string, folder: FolderPath): Promise<void> {
    const creation = this.#creations.get(folder) ?? createIn(parent, name, folder);
    this.#creations.set(folder, creation);
    try {
      await creation;
    } finally {
      if (this.#creations.get(folder) === creation) this.#creations.delete(folder);
    }
  }

  /** Waits until the names of an open folder and of its parents are durable. Closes it and throws if that fails. */
  async #finishCreations(folder: FolderPath, opened: Folder): Promise<void> {
    if (this.#creations.size === 0) return;
    try {
      for (const [path, creation] of this.#creations) if (folder.startsWith(path)) await creation;
    } catch (error) {
      await opened[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Opens a path and verifies that the result is at that path. Returns the result of `check` as `found`. Throws
   * `not-found` if `check` returns undefined.
   */
  async #openVerified<Found>(
    path: FilePath | FolderPath,
    flags: number,
    check: (syscalls: Syscalls, fd: number) => MaybePromise<Found | undefined>,
  ): Promise<{ fd: number; found: Found; syscalls: Syscalls }> {
    requireAddressable(path, this.maxPathBytes);
    const started = performance.now();
    const syscalls = this.#syscallsFor(this.#cached.open, path);
    const absolute = this.absolute(path);
    let fd: number;
    try {
      fd = await syscalls.open(absolute, flags);
    } catch (error) {
      await this.requireSame();
      throw toStoreError(error, path);
    }
    try {
      if (path === ROOT) this.#requireIdentity(await syscalls.statOpen(fd));
      const found = await check(syscalls, fd);
      if (found === undefined || !(await isAt(syscalls, fd, absolute, this.names))) throw notFound(path);
      // A file directly in the root can't be, or be in, Holdall's own folder.
      if (path.includes('/')) await this.#requireForeign(syscalls, path);
      if (this.#mayHaveAliases) await this.#requireListed(path);
      if (syscalls === this.system.threadpool) this.#cached.open.note(path, performance.now() - started);
      return { fd, found, syscalls };
    } catch (error) {
      await syscalls.close(fd);
      throw toStoreError(error, path);
    }
  }

  /** Throws if a path must not be used: Holdall's own folder, an alias, or a name that is too long. */
  async #requireUsable(path: FilePath | FolderPath): Promise<void> {
    requireAddressable(path, this.maxPathBytes);
    // For all other paths, opening the parent folder checks the first segment.
    if (parentOf(path) === ROOT && path !== ROOT) {
      await this.#requireForeign(this.#syscallsFor(this.#cached.open, path), path);
    }
    if (this.#mayHaveAliases) await this.#requireListed(path);
  }

  /**
   * Throws `not-found` for another name of Holdall's own folder that the spelling does not reveal, such as a short name
   * (`HOLDAL~1`) or a bind mount. Both names then have the same inode.
   */
  async #requireForeign(syscalls: Syscalls, path: FilePath | FolderPath): Promise<void> {
    const [first = ''] = path.split('/', 1);
    const [found, own] = await syscalls.findAll([this.#prefix + first, this.#prefix + RESERVED_FOLDER]);
    if (found && own && found.ino === own.ino && found.dev === own.dev) throw notFound(path);
  }

  /**
   * Throws `not-found` for a path with a segment that exists but is missing from the listing of its folder. Such an
   * alias would bypass the grants for the listed name.
   */
  async #requireListed(path: FilePath | FolderPath): Promise<void> {
    const { threadpool } = this.system;
    for (const { parent, name } of possibleAliases(path)) {
      // If the name does not exist, or a parent is a file, it is not an alias.
      if (!(await isPresent(threadpool, join(this.path, parent, name)))) continue;
      let isListed = false;
      await threadpool.readFolder(this.#prefix + parent, { isLarge: true }, (entry) => {
        isListed ||= this.names.certain(entry.name.toString()) === this.names.certain(name);
      });
      if (!isListed) throw notFound(path);
    }
  }

  /** Returns the absolute path of a file or folder. */
  absolute(path: FilePath | FolderPath): string {
    return path === ROOT ? this.path : this.#prefix + withoutSlash(path);
  }

  #syscallsFor(cached: LikelyCached, path: string): Syscalls {
    return cached.has(path) ? this.system.sync : this.system.threadpool;
  }
}

/** The longest path that a system call of Linux takes, without the null byte at its end (PATH_MAX). */
const MAX_ABSOLUTE_BYTES = 4095;

/**
 * Bytes by which a path in Holdall's own folder can be longer than in the root: in a temporary folder, some 170. Those of
 * versions add 300, and two for each segment.
 */
const OWN_FOLDER_BYTES = 512;

/** Returns the maximum length of a path below a root. */
export function maxPathBytesBelow(root: string): number {
  if (process.platform !== 'linux') return MAX_KEY_BYTES;
  const bytesLeft = MAX_ABSOLUTE_BYTES - OWN_FOLDER_BYTES - Buffer.byteLength(join(root, '/'));
  return Math.max(MAX_KEY_BYTES, Math.min(MAX_PATH_BYTES, bytesLeft));
}

const isPresent = (syscalls: Syscalls, path: string): Promise<boolean> =>
  Promise.resolve(syscalls.find(path)).then(
    (found) => found !== undefined,
    () => false,
  );

async function statsOfFile(syscalls: Syscalls, fd: number): Promise<BigIntStats | undefined> {
  const stats = await syscalls.statOpen(fd);
  return stats.isFile() ? stats : undefined;
}

/**
 * Throws `not-found` for paths in Holdall's own folder, and `invalid-path` for a name that is too long. The system
 * reports the latter only if the parent folder exists.
 */
function requireAddressable(path: FilePath | FolderPath, maxPathBytes: number): void {
  requireLength(path, maxPathBytes);
  if (hasLongSegment(path)) throw segmentTooLong(path);
  if (isReservedName(path.split('/', 1)[0] ?? '') || hasStagingName(path)) throw notFound(path);
}

async function createIn(parent: Folder, name: string, folder: FolderPath): Promise<void> {
  try {
    await mkdir(parent.at(name));
    await parent.sync();
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw toStoreError(error, folder);
    const present = await lstat(parent.at(name)).catch(() => undefined);
    if (present && !present.isDirectory()) throw kindConflict(folder, error);
  }
}

/** Returns an `unavailable` error: the root was unmounted or replaced. It must not look like an empty folder. */
const placeOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`;

function rootReplaced(path: string): StoreError {
  const message = `The folder ${path} (DISK_ROOT) was replaced since the start. Check that its disk is mounted, or restart the service.`;
  return new StoreError('store-unreachable', message, { retryAfter: 5 });
}

/** Returns a `denied` error with a one-line message for the operator: why the folder can't be used as the root. */
export function unusableRoot(folder: string, error: unknown): StoreError {
  const known = toStoreError(error, ROOT);
  const reason = isStoreError(known, 'unavailable') || isStoreError(known, 'denied') ? known : error;
  const text = reason instanceof Error ? reason.message : String(reason);
  // A later start can succeed on a disk that is full or busy now, but not while one of Holdall's folders is replaced.
  const isReplaced = isStoreError(error) && error.code === 'disk-error';
  const code = isStoreError(known, 'unavailable') && !isReplaced ? known.code : 'denied';
  return new StoreError(code, `DISK_ROOT ${folder} can't be used: ${text}`, { cause: reason });
}
