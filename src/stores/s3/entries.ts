import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../domain/max-entries.ts';
import { mediaTypeOf, UNKNOWN_TYPE } from '../../domain/media-type.ts';
import type { FilePath } from '../../domain/path.ts';
import type { Entry, FileEntry } from '../../domain/store.ts';
import { escapePath, unquote } from './keys.ts';
import { createRecentPages, type Seen } from './recent-pages.ts';

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
