import type { BigIntStats } from 'node:fs';
import { dirname } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { FilePath } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';
import type { MaybePromise } from './blocking-budget.ts';
import type { Syscalls } from './syscalls.ts';
import type { System } from './system.ts';

/** A file as it was when it was opened a moment ago. */
export interface RecentFile {
  readonly file: FileEntry;
  /** All of its bytes, where they are few and were read. Nobody changes them. */
  readonly bytes?: Buffer | undefined;
}

/** What was found of files a moment ago, and still holds. */
export interface RecentFiles {
  /** What is known of the file at `path`, if it is the same as then; undefined where it has to be opened. */
  find(path: FilePath): MaybePromise<RecentFile | undefined>;
  /** Remembers a file that was opened at `path`, and what it was then. */
  note(path: FilePath, stats: BigIntStats, recent: RecentFile): void;
}

/** What tells whether it still is. */
interface Looked {
  readonly stats: BigIntStats;
  /** What is looked at, itself first. */
  readonly way: readonly string[];
}

/** Bytes of files, and of what is known of them, that are remembered by a process. */
const REMEMBERED = 16 * 1024 * 1024;

/** What an entry takes beside its bytes. */
const ENTRY = 1024;

/** Milliseconds for which it is: then the file is opened anew. */
const TIME_TO_LIVE = 15_000;

/**
 * Milliseconds that a file has to have been left alone before it is remembered: changes within the granularity of its
 * times, a few milliseconds, could not be told from the state before them.
 */
const SETTLED_FILE_MS = 1_000;

/**
 * The same for its bytes. A program that has mapped the file changes its times with the first store into a page alone, until
 * the system has written the page back: after 30 seconds, and 5 more until it looks for such pages (`dirty_expire_centisecs`
 * and `dirty_writeback_centisecs` of Linux). Whatever is stored behind that changes them again.
 */
const WRITTEN_BACK = 60_000;

export interface RecentFilesOptions {
  readonly system: System;
  /** Whether the file system changes the times of a file in that way. */
  readonly tellsStores: boolean;
  absolute(path: FilePath): string;
}

/**
 * Spares opening a file that is asked for again: a look by its name, and by those of the folders that it is in, tells
 * whether that is the same file, with the bytes that it had (its inode, size and times; no program can set `ctime`). It
 * takes a sixth of the time of opening it, looking where it is, and reading it. Only where calls may be made at once: what
 * other machines have changed, a look by the name may tell late.
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
        // Whoever opens it then is told why that can't be.
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

/** The file, and the folders of ours that it is in: a look by its name would follow a link that took the place of one. */
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
 * Milliseconds that the folders on a way have to have been left alone. A change gives a folder the time of the system's
 * last tick, ten milliseconds ago at the most: so that it differs from one that is older than this.
 */
const SETTLED_PARENT_MS = 1000;

/**
 * What tells whether the way to `absolute` changed: as long as this stays the same, every name on it has led to the same
 * folder at every moment in between, and not through a link. To put something else in the place of a name changes the
 * folder that has the name, in its `ctime`, which no program can set (POSIX, rename(), symlink(), unlink()). Undefined
 * where that can't be told: a change was too recent, or there is something else than folders.
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
