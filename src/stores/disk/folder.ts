import { type BigIntStats, constants, type Dirent, type Stats } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StoreError } from '../../model/error.ts';
import type { NameComparison } from '../../model/name-comparison.ts';
import type { MaybePromise } from './blocking-budget.ts';
import type { NamedEntry, Syscalls } from './syscalls.ts';

/** An open folder. It remains the same folder even if its path is renamed or replaced. */
export interface Folder extends AsyncDisposable {
  /**
   * Returns the path of a name in this folder, relative to the open folder where the system supports it. Only for calls
   * that don't follow a symbolic link in the last segment.
   */
  at(name: string): string;
  /** Path of the folder itself, for reading its names. */
  readonly path: string;
  /** The path at which it was opened, for the log and for records. */
  readonly absolute: string;
  /** The system calls for single names in the folder. */
  readonly syscalls: Syscalls;
  /** Returns the current stats of the folder. */
  stats(): MaybePromise<BigIntStats>;
  /** Passes each entry to `visit`, unordered. `isLarge`: reading the names takes long even if they are cached. */
  readNames(options: { isLarge: boolean }, visit: (entry: NamedEntry) => void): MaybePromise<void>;
  /** Returns the stats of a name in this folder; undefined if it does not exist. Does not follow symbolic links. */
  find(name: string): MaybePromise<BigIntStats | undefined>;
  /** Returns the result of `find` for each name, in the same order. */
  findAll(names: readonly string[]): Promise<(BigIntStats | undefined)[]>;
  /** Returns for each name, in the same order, whether the process can read the file. False if that is uncertain. */
  areReadable(names: readonly string[]): MaybePromise<readonly boolean[]>;
  /** Makes earlier changes to the names in this folder durable. */
  sync(): Promise<void>;
  /**
   * Rejects with ENOENT if the folder is no longer at its path. Another request can move it while this one waits, and a
   * change of its names would then take effect at the new path.
   */
  requireInPlace(): Promise<void>;
}

/**
 * Number of names above which `findAll` tries the absolute path: verifying that path costs some 15 µs and saves 2 µs
 * per name.
 */
const MIN_NAMES_FOR_ABSOLUTE_PATH = 16;

/** Number of names for which the duration of a lookup is recorded, so that large and small folders are comparable. */
const NAMES_PER_MEASUREMENT = 16;

interface FolderSyscalls {
  /** The system calls for single names. */
  readonly syscalls: Syscalls;
  /** The system calls for reading and looking up all names. */
  readonly listing: Syscalls;
  /** Records how long a lookup took, in milliseconds per `NAMES_PER_MEASUREMENT` names. */
  noteListed(milliseconds: number): void;
  readonly syncFolder: SyncFolder;
}

/**
 * Returns the folder that is open as file descriptor `fd` and was opened at `absolute`. The caller must dispose of
 * it, which closes the descriptor.
 */
export function asFolder(
  fd: number,
  absolute: string,
  { syscalls, listing, noteListed, syncFolder }: FolderSyscalls,
): Folder {
  const path = fdPath(fd, absolute);
  const at = (name: string) => `${path}/${name}`;

  // A lookup through the descriptor takes twice as long as by the absolute path: 4.0 against 2.0 ms for 1,000 names.
  // Equal fingerprints before and after prove that the absolute path led to this folder all the time.
  const findByPath = async (names: readonly string[]) => {
    const before =
      names.length > MIN_NAMES_FOR_ABSOLUTE_PATH && HAS_PROC ? await ancestorFingerprint(listing, absolute) : undefined;
    if (before === undefined || (await pathOfDescriptor(listing, fd)) !== absolute) return undefined;
    const found = await listing.findAll(names.map((name) => `${absolute}/${name}`));
    return (await ancestorFingerprint(listing, absolute)) === before ? found : undefined;
  };

  return {
    path,
    absolute,
    at,
    syscalls,
    stats: () => syscalls.statOpen(fd),
    find: (name) => syscalls.find(at(name)),
    // The absolute path takes half the time, and the outcome is only a hint.
    areReadable: (names) => listing.areReadable(names.map((name) => `${absolute}/${name}`)),
    sync: () => syncFolder(fd),
    readNames: (options, visit) => listing.readFolder(path, options, visit),
    [Symbol.asyncDispose]: async () => syscalls.close(fd),

    async requireInPlace() {
      const [opened, found] = await Promise.all([syscalls.statOpen(fd), syscalls.find(absolute)]);
      if (found?.ino === opened.ino && found.dev === opened.dev) return;
      throw Object.assign(new Error(`ENOENT: ${absolute} was moved`), { code: 'ENOENT' });
    },

    async findAll(names) {
      const started = performance.now();
      const found = (await findByPath(names)) ?? (await listing.findAll(names.map(at)));
      noteListed((performance.now() - started) / Math.max(1, names.length / NAMES_PER_MEASUREMENT));
      return found;
    },
  };
}

/**
 * Milliseconds that all ancestor folders must have been unchanged. A change sets `ctime` to the kernel's last tick, at
 * most ten milliseconds ago. It therefore always differs from a `ctime` older than this.
 */
const SETTLED_PARENT_MS = 1000;

/**
 * Returns a fingerprint (dev, ino, ctime) of all ancestor folders of `absolute`. Two equal fingerprints prove that, in
 * between, every segment led to the same folder and none was a symbolic link. Replacing a name changes the `ctime` of
 * its parent folder, which no program can set (POSIX, rename(), symlink(), unlink()). Returns undefined if a change was
 * too recent, or if an ancestor is not a folder.
 */
async function ancestorFingerprint(syscalls: Syscalls, absolute: string): Promise<string | undefined> {
  const found = await syscalls.findAll(ancestorsOf(absolute));
  const latest = Date.now() - SETTLED_PARENT_MS;
  let state = '';
  for (const stats of found) {
    if (!stats?.isDirectory() || Number(stats.ctimeMs) > latest) return undefined;
    state += `${stats.dev} ${stats.ino} ${stats.ctimeNs},`;
  }
  return state;
}

function ancestorsOf(absolute: string): string[] {
  const folders: string[] = [];
  for (let folder = absolute, above = dirname(folder); above !== folder; folder = above, above = dirname(folder)) {
    folders.push(above);
  }
  return folders;
}

/** Makes earlier changes to the names in an open folder durable. */
export type SyncFolder = (folder: number) => Promise<void>;

/**
 * Creates a function that syncs folders and shares each sync between concurrent callers. A sync covers only changes
 * made before it began. A caller that arrives during a sync therefore waits for the next one, together with all callers
 * that arrive before that begins. A failure rejects for all callers of that sync.
 */
export function createFolderSync(syscalls: Pick<Syscalls, 'statOpen' | 'syncFolder'>): SyncFolder {
  const pending = new Map<string, { readonly current: Promise<void>; next?: Promise<void> }>();

  const begin = (folder: number, key: string): Promise<void> => {
    const current = syscalls.syncFolder(folder).catch((error: unknown) => {
      throw notDurable(error);
    });
    const sync: { readonly current: Promise<void>; next?: Promise<void> } = { current };
    pending.set(key, sync);
    const end = () => {
      if (!sync.next) pending.delete(key);
    };
    sync.current.then(end, end);
    return sync.current;
  };

  return async (folder) => {
    const { dev, ino } = await syscalls.statOpen(folder);
    const key = `${dev} ${ino}`;
    const sync = pending.get(key);
    if (!sync) return begin(folder, key);
    // Each caller keeps its descriptor open until the sync has ended, so `folder` is still valid then.
    sync.next ??= sync.current.catch(() => {}).then(() => begin(folder, key));
    return sync.next;
  };
}

/** The names have changed already, so the outcome is unknown only after a power failure. */
function notDurable(cause: unknown): StoreError {
  const message = 'The disk did not confirm the change. It was made, but might be lost in a power failure.';
  return new StoreError('outcome-unknown', message, { cause });
}

/** Whether the system has paths of file descriptors: `/proc/self/fd` (proc(5)). */
export const HAS_PROC = process.platform === 'linux';

/**
 * Returns a path to the open file or folder. On Linux, it refers to the descriptor and does not depend on names, as in
 * openat(2). On other systems, it is `absolute`.
 */
export function fdPath(fd: number, absolute: string): string {
  return HAS_PROC ? `/proc/self/fd/${fd}` : absolute;
}

/** Returns the current path of an open file or folder according to the kernel, without symbolic links. Linux only. */
export const pathOfDescriptor = (syscalls: Syscalls, fd: number): MaybePromise<string> =>
  syscalls.readLink(`/proc/self/fd/${fd}`);

/**
 * Returns whether the open file or folder is at `absolute`, with no symbolic link in any segment. A file that was
 * replaced or removed after it was opened counts as the requested file; Linux then appends " (deleted)" to its path. On
 * file systems that fold names, the kernel might report the spelling of an earlier lookup.
 */
export async function isAt(syscalls: Syscalls, fd: number, absolute: string, names: NameComparison): Promise<boolean> {
  const isSame = (actual: string) => actual === absolute || names.certain(actual) === names.certain(absolute);
  if (HAS_PROC) {
    const actual = await pathOfDescriptor(syscalls, fd);
    return isSame(actual) || isSame(actual.replace(/ \(deleted\)$/, ''));
  }
  const [stats, named, actual] = await Promise.all([
    syscalls.statOpen(fd),
    syscalls.find(absolute),
    realpath(absolute),
  ]);
  return isSame(actual) && stats.dev === named?.dev && stats.ino === named.ino;
}

/** A folder that was opened without following a symbolic link. Names are bytes, because they need not be UTF-8. */
export interface DirHandle extends AsyncDisposable {
  /**
   * Returns the path of a name in the folder. On Linux, the path goes through the descriptor, so a symbolic link that
   * replaces the folder has no effect.
   */
  at(name: Buffer): Buffer;
  stats(): Promise<Stats>;
  children(): Promise<Dirent<Buffer>[]>;
}

const DIR_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;

/**
 * Opens a folder. The caller must dispose of the handle. Rejects with ENOTDIR or ELOOP if `path` is not a folder, which
 * includes a symbolic link to one.
 */
export async function openDirHandle(path: Buffer): Promise<DirHandle> {
  const handle = await open(path, DIR_FLAGS);
  const inside = Buffer.from(`${fdPath(handle.fd, path.toString())}/`);
  return {
    at: (name) => Buffer.concat([inside, name]),
    stats: () => handle.stat(),
    children: () => readdir(inside, { withFileTypes: true, encoding: 'buffer' }),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}
