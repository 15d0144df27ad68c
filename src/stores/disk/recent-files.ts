import type { BigIntStats } from 'node:fs';
import { dirname } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { FilePath } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';
import type { MaybePromise } from './blocking-budget.ts';
import type { Syscalls } from './syscalls.ts';
import type { System } from './system.ts';

/** A recently opened file, as it was then. */
export interface RecentFile {
  readonly file: FileEntry;
  /** The whole content, if it is small and was read. Must not be modified. */
  readonly bytes?: Buffer | undefined;
}

/** Cache of recently opened files. Each entry is verified before use. */
export interface RecentFiles {
  /** Returns the cached file at `path` if it is unchanged; undefined if it must be opened. */
  find(path: FilePath): MaybePromise<RecentFile | undefined>;
  /** Caches a file that was opened at `path`, with its stats at that time. */
  note(path: FilePath, stats: BigIntStats, recent: RecentFile): void;
}

/** The data that verifies a cached file. */
interface Looked {
  readonly stats: BigIntStats;
  /** The absolute paths to look up: the file, then its parent folders below the root. */
  readonly way: readonly string[];
}

/** Maximum bytes of the cache in each process: contents, and `ENTRY` bytes per file. */
const REMEMBERED = 16 * 1024 * 1024;

/** Estimated bytes of a cached file without its content. */
const ENTRY = 1024;

/** Milliseconds for which a file is cached. After that, it is opened again. */
const TIME_TO_LIVE = 15_000;

/**
 * Milliseconds that a file must have been unchanged before it is cached. File times have a granularity of a few
 * milliseconds: a second change within that would not show.
 */
const SETTLED_FILE_MS = 1_000;

/**
 * Milliseconds that a file must have been unchanged before its content is cached. Of several writes to a page through a
 * memory map, only the first updates the file's times, until the system has written the page back. Linux does so after
 * 30 s (`dirty_expire_centisecs`) plus up to 5 s (`dirty_writeback_centisecs`). The next write updates the times again.
 */
const WRITTEN_BACK = 60_000;

export interface RecentFilesOptions {
  readonly system: System;
  /** Whether the file system updates a file's times for writes through a memory map. */
  readonly tellsStores: boolean;
  /** Returns the absolute path of a file. */
  absolute(path: FilePath): string;
}

/**
 * Creates a cache that saves opening a file again. `lstat` of the file and its parent folders proves that the file and
 * its content are unchanged (inode, size and times; no program can set `ctime`). This takes a sixth of the time of
 * opening, verifying and reading the file. Disabled on non-local file systems, where `lstat` may report changes by
 * other machines late.
 */
export function createRecentFiles({ system, tellsStores, absolute }: RecentFilesOptions): RecentFiles {
  const remembered = new LRUCache<FilePath, RecentFile & Looked>({
    maxSize: REMEMBERED,
    sizeCalculation: ({ bytes }) => ENTRY + (bytes?.length ?? 0),
    ttl: TIME_TO_LIVE,
    ttlAutopurge: true,
  });
  const isUsable = system.sync !== system.threadpool;

  const forget = (path: FilePath) => {
    remembered.delete(path);
    return undefined;
  };

  return {
    find(path) {
      const known = remembered.get(path);
      if (!known) return undefined;
      const judge = ([stats, ...folders]: (BigIntStats | undefined)[]) => {
        const isThere = stats !== undefined && isSame(stats, known.stats);
        return isThere && folders.every((folder) => folder?.isDirectory()) ? known : forget(path);
      };
      try {
        const found = system.sync.lookUpAll(known.way);
        return found instanceof Promise ? found.then(judge, () => forget(path)) : judge(found);
      } catch {
        // The caller then opens the file and gets the error.
        return forget(path);
      }
    },

    note(path, stats, { file, bytes }) {
      const age = Date.now() - Number(stats.ctimeMs);
      if (!isUsable || age < SETTLED_FILE_MS) return;
      const kept = tellsStores && age >= WRITTEN_BACK ? bytes : undefined;
      remembered.set(path, { stats, file, bytes: kept, way: wayTo(absolute(path), path) });
    },
  };
}

/**
 * Returns the paths to look up: the file and its parent folders below the root. Without the folders, `lstat` of the
 * file would follow a symbolic link that replaced one of them.
 */
function wayTo(absolute: string, path: FilePath): string[] {
  const way = [absolute];
  for (let depth = path.split('/').length, at = absolute; depth > 1; depth--) way.push((at = dirname(at)));
  return way;
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return (
    one.ino === other.ino &&
    one.ctimeNs === other.ctimeNs &&
    one.mtimeNs === other.mtimeNs &&
    one.size === other.size &&
    one.dev === other.dev &&
    one.mode === other.mode
  );
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
export async function ancestorFingerprint(calls: Syscalls, absolute: string): Promise<string | undefined> {
  const found = await calls.lookUpAll(ancestorsOf(absolute));
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
