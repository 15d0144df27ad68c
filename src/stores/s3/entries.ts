import { LRUCache } from 'lru-cache';
import { mediaTypeOf, UNKNOWN_TYPE } from '../../domain/media-type.ts';
import type { FilePath } from '../../domain/path.ts';
import type { FileEntry } from '../../domain/store.ts';
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

/** How many entries are remembered: a few pages of listings, some megabytes. */
const MOST = 10_000;

/** Makes the entries of files, and remembers them for some seconds. */
export interface Entries {
  of(path: FilePath, described: Described): FileEntry;
  /** Whether the entry has the type that is stored: listings tell none, and what the name tells stands for it. */
  isTyped(entry: FileEntry): boolean;
  /** The entry that was made in the last seconds, if nothing was changed here since. */
  seen(path: FilePath): FileEntry | undefined;
  /** Forgets one file, or all. */
  forget(path?: FilePath): void;
}

export function createEntries(publicUrl: string | undefined): Entries {
  const known = new LRUCache<FilePath, FileEntry>({ max: MOST, ttl: FRESH });
  const typed = new WeakSet<FileEntry>();
  return {
    of(path, { Size = 0, ETag, LastModified, ContentType }) {
      const entry: FileEntry = {
        kind: 'file',
        path,
        size: Size,
        etag: unquote(ETag),
        modified: LastModified ? inSeconds(LastModified) : null,
        type: typeOf(path, ContentType),
        ...(publicUrl !== undefined && { publicUrl: `${publicUrl}/${escapePath(path)}` }),
      };
      if (ContentType !== undefined) typed.add(entry);
      known.set(path, entry);
      return entry;
    },
    isTyped: (entry) => typed.has(entry),
    seen: (path) => known.get(path),
    forget(path) {
      if (path === undefined) known.clear();
      else known.delete(path);
    },
  };
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
