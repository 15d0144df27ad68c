import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../cache/lru-options.ts';
import { partitionPoint } from '../../model/binary-search.ts';
import { comparePaths, type FilePath, ROOT } from '../../model/path.ts';
import { mediaTypeOf, UNKNOWN_TYPE } from '../../model/presentation.ts';
import type { Entry, FileEntry } from '../../model/store.ts';
import { encodeKey } from './keys.ts';
import type { ObjectMetadata } from './object-metadata.ts';

/** The properties of an object in a response of the store. */
export interface ObjectProperties extends ObjectMetadata {
  readonly size: number;
  /** Without quotes; empty if it is unknown. */
  readonly etag: string;
  /** The time of the last write. */
  readonly modified?: Date | undefined;
  readonly contentType?: string | undefined;
}

/** Milliseconds for which a remembered entry replaces a request. */
const ENTRY_TTL_MS = 5_000;

/** Maximum numbers of remembered single entries and of remembered listing pages. Each takes some megabytes. */
const MAX_ENTRIES = 10_000;
const MAX_PAGES = 10;

/** Creates the entries of files, and remembers them for some seconds. */
export interface Entries {
  /** Returns the entry of a file, and remembers it. */
  of(path: FilePath, properties: ObjectProperties): FileEntry;
  /** Returns the entry of an object in a listing. `rememberPage` remembers the whole page later. */
  listed(path: FilePath, properties: ObjectProperties): FileEntry;
  rememberPage(page: readonly Entry[]): void;
  /**
   * Returns whether the entry has the stored media type. Listings contain no media types, so their entries have the
   * type of the file extension.
   */
  isTyped(entry: FileEntry): boolean;
  /** Returns the remembered entry, unless this process has changed the file since. */
  remembered(path: FilePath): FileEntry | undefined;
  /** Forgets one file, or all files if `path` is undefined. */
  forget(path?: FilePath): void;
}

export function createEntries(publicUrl: string | undefined): Entries {
  const known = new LRUCache<FilePath, RememberedEntry>({ ...maxEntries(MAX_ENTRIES), ttl: ENTRY_TTL_MS });
  const pages = createRecentPages({ maxPages: MAX_PAGES, ttlMs: ENTRY_TTL_MS });
  /** The order in which entries were remembered: a later entry has a higher number. */
  let sequence = 0;
  const typed = new WeakSet<FileEntry>();

  const make = (path: FilePath, { size, etag, contentType, encoding, ...times }: ObjectProperties): FileEntry => ({
    kind: 'file',
    path,
    size,
    etag,
    ...timesOf(times),
    type: typeOf(path, contentType),
    ...(encoding && { encoding }),
    ...(publicUrl !== undefined && { publicUrl: `${publicUrl}/${encodeKey(path)}` }),
  });

  return {
    of(path, properties) {
      const made = make(path, properties);
      const before = known.get(path)?.entry;
      // An unchanged entry keeps its identity, because its headers are cached by identity.
      const entry = before && isSame(before, made) ? before : made;
      if (properties.contentType !== undefined) typed.add(entry);
      known.set(path, { entry, sequence: ++sequence });
      return entry;
    },
    listed: make,
    rememberPage: (page) => pages.add(page, ++sequence),
    isTyped: (entry) => typed.has(entry),
    remembered(path) {
      const [single, listed] = [known.get(path), pages.find(path)];
      return single && listed && single.sequence < listed.sequence ? listed.entry : (single ?? listed)?.entry;
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
    left.encoding === right.encoding &&
    left.modified?.getTime() === right.modified?.getTime() &&
    left.changed?.getTime() === right.changed?.getTime()
  );
}

/** Returns the modification time that a client set, with that of the last write, or the latter alone. */
function timesOf({
  modified,
  mtime,
}: Pick<ObjectProperties, 'modified' | 'mtime'>): Pick<FileEntry, 'modified' | 'changed'> {
  const written = modified ? inSeconds(modified) : undefined;
  return mtime ? { modified: mtime, ...(written && { changed: written }) } : { modified: written ?? null };
}

/** Rounds to seconds. Some listings contain milliseconds and headers never do, but a file must have one time. */
export function inSeconds(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 1000) * 1000);
}

/** Returns the stored media type, or the type of the file extension if the stored one is missing or a default. */
function typeOf(path: FilePath, stored: string | undefined): string {
  return stored === undefined || stored === '' || stored === UNKNOWN_TYPE || stored === 'binary/octet-stream'
    ? mediaTypeOf(path)
    : stored;
}

/** A remembered entry. A later entry has a higher `sequence`. */
export interface RememberedEntry {
  readonly entry: FileEntry;
  readonly sequence: number;
}

/** Listing pages, remembered whole for some seconds: remembering each entry would cost more than creating it. */
export interface RecentPages {
  /** Remembers a page. Its entries must be in the order of `comparePaths`. */
  add(page: readonly Entry[], sequence: number): void;
  /** Returns the entry of the file on the newest page that contains it. */
  find(path: FilePath): RememberedEntry | undefined;
  /** Forgets every page that contains the file, or all pages if `path` is undefined. */
  forget(path?: FilePath): void;
}

export function createRecentPages({ maxPages, ttlMs }: { maxPages: number; ttlMs: number }): RecentPages {
  /** Newest page first. */
  let pages: Page[] = [];

  const dropOld = (): void => {
    const now = performance.now();
    if (pages.some(({ expiresAt }) => expiresAt <= now)) pages = pages.filter(({ expiresAt }) => expiresAt > now);
  };

  return {
    add(entries, sequence) {
      dropOld();
      pages = [{ entries, sequence, expiresAt: performance.now() + ttlMs }, ...pages].slice(0, maxPages);
    },
    find(path) {
      dropOld();
      for (const { entries, sequence } of pages) {
        const entry = findIn(entries, path);
        if (entry?.kind === 'file') return { entry, sequence };
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
  readonly sequence: number;
  /** Expiry time, in milliseconds of `performance.now`. */
  readonly expiresAt: number;
}

/** Finds an entry by binary search. */
function findIn(entries: readonly Entry[], path: FilePath): Entry | undefined {
  const isBefore = (index: number) => comparePaths(entries[index]?.path ?? ROOT, path) < 0;
  const found = entries[partitionPoint(entries.length, isBefore)];
  return found?.path === path ? found : undefined;
}
