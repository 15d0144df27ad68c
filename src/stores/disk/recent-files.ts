import type { BigIntStats } from 'node:fs';
import { dirname } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { FilePath } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';
import type { MaybePromise } from './blocking-budget.ts';
import type { System } from './sync-syscalls.ts';

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
interface Verification {
  readonly stats: BigIntStats;
  /** The absolute paths to look up: the file, then its parent folders below the root. */
  readonly paths: readonly string[];
}

/** Maximum bytes of the cache in each process: contents, and `ENTRY_OVERHEAD_BYTES` bytes per file. */
const MAX_CACHE_BYTES = 16 * 1024 * 1024;

/** Estimated bytes of a cached file without its content. */
const ENTRY_OVERHEAD_BYTES = 1024;

/** Milliseconds for which a file is cached. After that, it is opened again. */
const TIME_TO_LIVE_MS = 15_000;

/**
 * Milliseconds that a file must have been unchanged before it is cached. File times have a granularity of a few
 * milliseconds: a second change within that would not show.
 */
const MIN_UNCHANGED_MS = 1_000;

/**
 * Milliseconds that a file must have been unchanged before its content is cached. Of several writes to a page through a
 * memory map, only the first updates the file's times, until the system has written the page back. Linux does so after
 * 30 s (`dirty_expire_centisecs`) plus up to 5 s (`dirty_writeback_centisecs`). The next write updates the times again.
 */
const WRITTEN_BACK_AFTER_MS = 60_000;

export interface RecentFilesOptions {
  readonly system: System;
  /** Whether the file system updates a file's times for writes through a memory map. */
  readonly updatesTimesOfMappedWrites: boolean;
  /** Returns the absolute path of a file. */
  absolute(path: FilePath): string;
}

/**
 * Creates a cache that saves opening a file again. `lstat` of the file and its parent folders proves that the file and
 * its content are unchanged (inode, size and times; no program can set `ctime`). This takes a sixth of the time of
 * opening, verifying and reading the file. Disabled on non-local file systems, where `lstat` might report changes by
 * other machines late.
 */
export function createRecentFiles({ system, updatesTimesOfMappedWrites, absolute }: RecentFilesOptions): RecentFiles {
  const cache = new LRUCache<FilePath, RecentFile & Verification>({
    maxSize: MAX_CACHE_BYTES,
    sizeCalculation: ({ bytes }) => ENTRY_OVERHEAD_BYTES + (bytes?.length ?? 0),
    ttl: TIME_TO_LIVE_MS,
    ttlAutopurge: true,
  });
  const isUsable = system.sync !== system.threadpool;

  const evict = (path: FilePath) => {
    cache.delete(path);
    return undefined;
  };

  return {
    find(path) {
      const known = cache.get(path);
      if (!known) return undefined;
      const verify = ([stats, ...folders]: (BigIntStats | undefined)[]) => {
        const isUnchanged = stats !== undefined && isSame(stats, known.stats);
        return isUnchanged && folders.every((folder) => folder?.isDirectory()) ? known : evict(path);
      };
      try {
        const found = system.sync.findAll(known.paths);
        return found instanceof Promise ? found.then(verify, () => evict(path)) : verify(found);
      } catch {
        // The caller then opens the file and gets the error.
        return evict(path);
      }
    },

    note(path, stats, { file, bytes }) {
      const age = Date.now() - Number(stats.ctimeMs);
      if (!isUsable || age < MIN_UNCHANGED_MS) return;
      const cached = updatesTimesOfMappedWrites && age >= WRITTEN_BACK_AFTER_MS ? bytes : undefined;
      cache.set(path, { stats, file, bytes: cached, paths: pathsToVerify(absolute(path), path) });
    },
  };
}

/**
 * Returns the paths to look up: the file and its parent folders below the root. Without the folders, `lstat` of the
 * file would follow a symbolic link that replaced one of them.
 */
function pathsToVerify(absolute: string, path: FilePath): string[] {
  const paths = [absolute];
  for (let depth = path.split('/').length, at = absolute; depth > 1; depth--) paths.push((at = dirname(at)));
  return paths;
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
