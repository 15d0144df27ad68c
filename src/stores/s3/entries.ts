import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../cache/lru-options.ts';
import { partitionPoint } from '../../model/binary-search.ts';
import { mediaTypeOf, UNKNOWN_TYPE } from '../../model/media-type.ts';
import { comparePaths, type FilePath, ROOT } from '../../model/path.ts';
import type { Entry, FileEntry } from '../../model/store.ts';
import { escapePath, unquote } from './keys.ts';

/** The properties of an object in responses of the store, by the store's names. */
export interface Described {
  readonly Size?: number | undefined;
  readonly ETag?: string | undefined;
  readonly LastModified?: Date | undefined;
  readonly ContentType?: string | undefined;
}

/** Milliseconds for which a remembered entry replaces a request. */
const FRESH = 5_000;

/** Maximum numbers of remembered single entries and of remembered listing pages. Each takes some megabytes. */
const MOST = 10_000;
const MOST_PAGES = 10;

/** Creates the entries of files, and remembers them for some seconds. */
export interface Entries {
  /** Returns the entry of a file, and remembers it. */
  of(path: FilePath, described: Described): FileEntry;
  /** Returns the entry of an object in a listing. `rememberPage` remembers the whole page later. */
  listed(path: FilePath, described: Described): FileEntry;
  rememberPage(page: readonly Entry[]): void;
  /**
   * Returns whether the entry has the stored media type. Listings contain no media types, so their entries have the
   * type of the file extension.
   */
  isTyped(entry: FileEntry): boolean;
  /** Returns the remembered entry, unless this process has changed the file since. */
  seen(path: FilePath): FileEntry | undefined;
  /** Forgets one file, or all files if `path` is undefined. */
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
      // An unchanged entry keeps its identity, because its headers are cached by identity.
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

/** Rounds to seconds. Some listings contain milliseconds and headers never do, but a file must have one time. */
function inSeconds(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 1000) * 1000);
}

/** Returns the stored media type, or the type of the file extension if the stored one is missing or a default. */
function typeOf(path: FilePath, stored: string | undefined): string {
  return stored === undefined || stored === '' || stored === UNKNOWN_TYPE || stored === 'binary/octet-stream'
    ? mediaTypeOf(path)
    : stored;
}

/** A remembered entry. A later entry has a higher `turn`. */
export interface Seen {
  readonly entry: FileEntry;
  readonly turn: number;
}

/** Listing pages, remembered whole for some seconds: remembering each entry would cost more than creating it. */
export interface RecentPages {
  /** Remembers a page. Its entries must be in the order of `comparePaths`. */
  add(page: readonly Entry[], turn: number): void;
  /** Returns the entry of the file on the newest page that contains it. */
  find(path: FilePath): Seen | undefined;
  /** Forgets every page that contains the file, or all pages if `path` is undefined. */
  forget(path?: FilePath): void;
}

export function createRecentPages({ most, milliseconds }: { most: number; milliseconds: number }): RecentPages {
  /** Newest page first. */
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
  /** Expiry time, in milliseconds of `performance.now`. */
  readonly until: number;
}

/** Finds an entry by binary search. */
function findIn(entries: readonly Entry[], path: FilePath): Entry | undefined {
  const isBefore = (index: number) => comparePaths(entries[index]?.path ?? ROOT, path) < 0;
  const found = entries[partitionPoint(entries.length, isBefore)];
  return found?.path === path ? found : undefined;
}
