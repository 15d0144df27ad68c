import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../cache/lru-options.ts';
import { mediaTypeOf, UNKNOWN_TYPE } from '../../model/media-type.ts';
import { comparePaths, type FilePath } from '../../model/path.ts';
import type { Entry, FileEntry } from '../../model/store.ts';
import { escapePath, unquote } from './keys.ts';

/** What the answers of the store say of an object, by the names that they give it. */
export interface Described {
  readonly Size?: number | undefined;
  readonly ETag?: string | undefined;
  readonly LastModified?: Date | undefined;
  readonly ContentType?: string | undefined;
}

/** Milliseconds for which an entry that was seen spares a look at the file. */
const FRESH = 5_000;

/** How many entries are remembered one by one, and how many pages of listings: some megabytes each. */
const MOST = 10_000;
const MOST_PAGES = 10;

/** Makes the entries of files, and remembers them for some seconds. */
export interface Entries {
  of(path: FilePath, described: Described): FileEntry;
  /** The same of an object in a listing; what is remembered is the page. */
  listed(path: FilePath, described: Described): FileEntry;
  rememberPage(page: readonly Entry[]): void;
  /** Whether the entry has the type that is stored: listings tell none, and what the name tells stands for it. */
  isTyped(entry: FileEntry): boolean;
  /** The entry that was made in the last seconds, if nothing was changed here since. */
  seen(path: FilePath): FileEntry | undefined;
  /** Forgets one file, or all. */
  forget(path?: FilePath): void;
}

export function createEntries(publicUrl: string | undefined): Entries {
  const known = new LRUCache<FilePath, Seen>({ ...maxEntries(MOST), ttl: FRESH });
  const pages = createRecentPages({ most: MOST_PAGES, milliseconds: FRESH });
  let turn = 0;
  const typed = new WeakSet<FileEntry>();

  const make = (path: FilePath, { Size = 0, ETag, LastModified, ContentType }: Described): FileEntry => ({
    kind: 'file',
    path,
    size: Size,
    etag: unquote(ETag),
    modified: LastModified ? inSeconds(LastModified) : null,
    type: typeOf(path, ContentType),
    ...(publicUrl !== undefined && { publicUrl: `${publicUrl}/${escapePath(path)}` }),
  });

  return {
    of(path, described) {
      const made = make(path, described);
      const before = known.get(path)?.entry;
      // An entry that is the same goes on to be the same object: its headers are remembered with it.
      const entry = before && isSame(before, made) ? before : made;
      if (described.ContentType !== undefined) typed.add(entry);
      known.set(path, { entry, turn: ++turn });
      return entry;
    },
    listed: make,
    rememberPage: (page) => pages.add(page, ++turn),
    isTyped: (entry) => typed.has(entry),
    seen(path) {
      const [single, listed] = [known.get(path), pages.find(path)];
      return single && listed && single.turn < listed.turn ? listed.entry : (single ?? listed)?.entry;
    },
    forget(path) {
      pages.forget(path);
      if (path === undefined) known.clear();
      else known.delete(path);
    },
  };
}

function isSame(left: FileEntry, right: FileEntry): boolean {
  return (
    left.size === right.size &&
    left.etag === right.etag &&
    left.type === right.type &&
    left.modified?.getTime() === right.modified?.getTime()
  );
}

/** Some listings tell milliseconds, while the header of an object never does: one file has one time. */
function inSeconds(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 1000) * 1000);
}

/** The type that the object has, or the name tells where it has none but what stores put there by themselves. */
function typeOf(path: FilePath, stored: string | undefined): string {
  return stored === undefined || stored === '' || stored === UNKNOWN_TYPE || stored === 'binary/octet-stream'
    ? mediaTypeOf(path)
    : stored;
}

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
