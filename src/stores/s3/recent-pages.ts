import { comparePaths, type FilePath } from '../../domain/path.ts';
import type { Entry, FileEntry } from '../../domain/store.ts';

/** An entry, and when it was seen: what was seen later has a higher turn. */
export interface Seen {
  readonly entry: FileEntry;
  readonly turn: number;
}

/** Pages of listings, remembered as they are for some seconds: to remember each entry by itself costs more than to make it. */
export interface RecentPages {
  /** Remembers a page, whose entries are in the order of `comparePaths`. */
  add(page: readonly Entry[], turn: number): void;
  /** The entry of the file on the newest page that has it. */
  find(path: FilePath): Seen | undefined;
  /** Forgets every page that has the file, or all. */
  forget(path?: FilePath): void;
}

export function createRecentPages({ most, milliseconds }: { most: number; milliseconds: number }): RecentPages {
  /** The newest first. */
  let pages: Page[] = [];

  const dropOld = (): void => {
    const now = performance.now();
    if (pages.some(({ until }) => until <= now)) pages = pages.filter(({ until }) => until > now);
  };

  return {
    add(entries, turn) {
      dropOld();
      pages = [{ entries, turn, until: performance.now() + milliseconds }, ...pages].slice(0, most);
    },
    find(path) {
      dropOld();
      for (const { entries, turn } of pages) {
        const entry = findIn(entries, path);
        if (entry?.kind === 'file') return { entry, turn };
      }
      return undefined;
    },
    forget(path) {
      pages = path === undefined ? [] : pages.filter(({ entries }) => findIn(entries, path) === undefined);
    },
  };
}

interface Page {
  readonly entries: readonly Entry[];
  readonly turn: number;
  /** In the time of `performance.now`. */
  readonly until: number;
}

/** Halves what it looks through. */
function findIn(entries: readonly Entry[], path: FilePath): Entry | undefined {
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const entry = entries[middle];
    if (entry === undefined) return undefined;
    const order = comparePaths(entry.path, path);
    if (order === 0) return entry;
    if (order < 0) from = middle + 1;
    else to = middle;
  }
  return undefined;
}
