import { decodeCursor, encodeCursor, invalidCursor, type ListingPosition } from '../../model/page.ts';
import { comparePaths, type FolderPath, foundFile, foundFolder, MAX_KEY_BYTES, ROOT } from '../../model/path.ts';
import { type Cancellable, type Entry, MAX_OMITTED_NAMES, type Store } from '../../model/store.ts';
import { notFound } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import type { Entries } from './entries.ts';
import { isRejectedPosition, listingMismatch } from './errors.ts';
import { decodeKey, fromFullKey, isEmptyMarker, type Key } from './keys.ts';
import { type ListedObject, type ListResult, listObjects } from './operations.ts';
import { isOwn } from './own-folder.ts';

interface Page {
  /** In the order of `comparePaths`, after the requested position. */
  readonly objects: readonly ListedObject[];
  readonly prefixes: readonly Key[];
  /** Keys of objects on this page that are not after the requested position. */
  readonly repeated: readonly Key[];
  /** The keys that are not UTF-8, as the store encoded them. No request can contain them. */
  readonly undecodable: readonly string[];
  /** The position of the next page; undefined on the last page. */
  readonly next?: ListingPosition | undefined;
}

/** Maximum pages of the store that are combined to fill one page when keys are omitted. */
const MAX_COMBINED_PAGES = 5;

/** Maximum keys that a store returns on one page. */
export const MAX_KEYS = 1000;

/**
 * Creates the listing of folders: the keys below a folder up to the next `/`. Omits folder markers, Holdall's own folder,
 * and keys that are not valid paths. Logs how many invalid keys it omitted.
 */
export function createLister(bucket: Bucket, entries: Entries): Store['list'] {
  return async (folder, { cursor, limit = MAX_KEYS, signal } = {}) => {
    let position = cursor === undefined ? undefined : decodeCursor(cursor, folder);
    const isFirst = position === undefined;
    const found: Entry[] = [];
    const omitted: string[] = [];
    for (let pages = 1; ; pages++) {
      const page = await readPage(bucket, {
        prefix: folder,
        delimiter: '/',
        limit: limit - found.length,
        position,
        signal,
      }).catch((error: unknown) => {
        const isOfClient = cursor !== undefined && pages === 1;
        throw isOfClient && isRejectedPosition(error) ? invalidCursor(cursor, error) : error;
      });
      const added = addEntries(found, page, folder, entries);
      if (isFirst && pages === 1 && added.isEmpty && !page.next && folder !== ROOT) throw notFound(folder);
      omitted.push(...added.omitted);
      position = page.next;
      // Omitted keys, such as the folder marker, make a page short. Fill it with a limited number of further requests.
      if (position && found.length < limit && pages < MAX_COMBINED_PAGES) continue;
      if (omitted.length > 0) bucket.warn(INVALID_KEYS_MESSAGE, { folder, omitted: omitted.length });
      entries.rememberPage(found);
      return {
        entries: found,
        cursor: position && encodeCursor(position),
        ...(omitted.length > 0 && { omitted: omitted.slice(0, MAX_OMITTED_NAMES) }),
      };
    }
  };
}

/** The log message about omitted keys. Its field `omitted` is their number. */
export const INVALID_KEYS_MESSAGE = 'Objects are omitted from a listing: their keys are not valid paths.';

interface PageRequest extends Cancellable {
  readonly prefix: Key;
  readonly delimiter?: '/';
  readonly limit: number;
  /** The start of the page; undefined for the first page. */
  readonly position: ListingPosition | undefined;
  /** The first page begins after this key. */
  readonly after?: Key | undefined;
}

/**
 * Returns one page of a listing, and corrects deviations of the store. Drops prefixes that the previous page contained.
 * If a truncated response has no token or repeats the token, the next page begins after the last key.
 */
export async function readPage(
  bucket: Bucket,
  { prefix, delimiter, limit, position, after, signal }: PageRequest,
): Promise<Page> {
  const start = position?.last ?? after;
  const output = await listObjects(
    bucket,
    {
      prefix,
      delimiter,
      'max-keys': String(limit),
      'encoding-type': 'url',
      'continuation-token': position?.token,
      'start-after': start !== undefined && position?.token === undefined ? startAfter(start, delimiter) : undefined,
    },
    { signal },
  );
  const { objects: all, prefixes: allPrefixes, undecodable } = decodeAll(bucket, output, { prefix, delimiter });
  const isNew = (key: Key) => start === undefined || comparePaths(key, start) > 0;
  const objects = all.filter(({ key }) => isNew(key));
  const repeated = all.flatMap(({ key }) => (isNew(key) ? [] : [key]));
  const prefixes = allPrefixes.filter(isNew);
  const last = [objects.at(-1)?.key, prefixes.at(-1), start].filter((key) => key !== undefined);
  const next = {
    token: output.token === position?.token ? undefined : output.token,
    last: last.toSorted(comparePaths).at(-1) ?? prefix,
  };
  const isNewer = next.last !== (start ?? prefix);
  const hasNext = output.isTruncated && (isNewer || canContinue(position, next));
  return { objects, prefixes, repeated, undecodable, next: hasNext ? next : undefined };
}

/** Returns one page of the objects whose keys begin with `prefix`, in the order of the store. */
export async function requestPage(
  bucket: Bucket,
  {
    prefix,
    token,
    limit = MAX_KEYS,
    signal,
  }: { prefix: Key; token?: string | undefined; limit?: number } & Cancellable,
): Promise<Pick<Page, 'objects' | 'undecodable'> & Pick<ListResult, 'isTruncated' | 'token'>> {
  const query = { prefix, 'max-keys': String(limit), 'encoding-type': 'url', 'continuation-token': token };
  const result = await listObjects(bucket, query, { signal });
  return { ...decodeAll(bucket, result, { prefix }), isTruncated: result.isTruncated, token: result.token };
}

/**
 * Decodes the keys of a page. Throws if the page contains keys that were not requested, because a caller might delete
 * the listed keys.
 */
function decodeAll(
  bucket: Bucket,
  result: ListResult,
  { prefix, delimiter }: Pick<PageRequest, 'prefix' | 'delimiter'>,
): Pick<Page, 'objects' | 'prefixes' | 'undecodable'> {
  const decode = (encoded: string): Key | undefined => {
    const fullKey = result.isEncoded ? decodeKey(encoded) : encoded;
    if (fullKey === undefined) return undefined;
    const key = fromFullKey(bucket, fullKey);
    if (key === undefined) throw listingMismatch(bucket.endpoint);
    return key;
  };
  const objects: ListedObject[] = [];
  const undecodable: string[] = [];
  for (const object of result.objects) {
    const key = decode(object.key);
    if (key === undefined) undecodable.push(object.key);
    // The marker of the prefix itself, which is the root.
    else if (key === '' && bucket.prefix !== '') continue;
    // Some stores list a key twice.
    else if (key !== objects.at(-1)?.key) objects.push({ ...object, key });
  }
  const allPrefixes = result.prefixes.map(decode);
  undecodable.push(...result.prefixes.filter((_, index) => allPrefixes[index] === undefined));
  const prefixes = [...new Set(allPrefixes.filter((key) => key !== undefined))];
  const isBelow = (key: Key) => key.startsWith(prefix) && !(delimiter && key.includes(delimiter, prefix.length));
  const isFolder = (key: Key) => delimiter !== undefined && key.endsWith(delimiter) && isBelow(key.slice(0, -1));
  if (!objects.every(({ key }) => isBelow(key)) || !prefixes.every(isFolder)) throw listingMismatch(bucket.endpoint);
  return { objects, prefixes, undecodable };
}

/**
 * Returns whether another request can continue after a page without new keys. A page requested by token can continue
 * with the next token or after the last key. The first page can continue with its token. An empty page requested after
 * the last key ends the listing, even if the response is truncated.
 */
function canContinue(position: ListingPosition | undefined, next: ListingPosition): boolean {
  return (position ?? next).token !== undefined;
}

/** Returns the `start-after` key that excludes `last` and, if `last` can be a prefix, everything below it. */
const startAfter = (last: Key, delimiter: '/' | undefined): Key =>
  delimiter !== undefined && last.endsWith(delimiter) ? `${last}\u{10ffff}` : last;

/** Adds the entries of a page to `listed`. Returns the names that it omitted, and whether the page was empty. */
function addEntries(listed: Entry[], { objects, prefixes, undecodable }: Page, folder: FolderPath, entries: Entries) {
  const found: Entry[] = [];
  const omitted = undecodable.map((key) => key.slice(key.lastIndexOf('/', key.length - 2) + 1));
  const add = (entry: Entry | undefined, key: Key) => {
    if (entry) found.push(entry);
    else omitted.push(key.slice(folder.length));
  };
  for (const object of objects) {
    if ((object.key === folder && isEmptyMarker(object)) || isOwn(object.key)) continue;
    const path = foundFile(folder, object.key.slice(folder.length), MAX_KEY_BYTES);
    add(path && entries.listed(path, object), object.key);
  }
  for (const key of prefixes) {
    if (isOwn(key)) continue;
    const path = foundFolder(folder, key.slice(folder.length, -1), MAX_KEY_BYTES);
    add(path && { kind: 'folder', path }, key);
  }
  found.sort((left, right) => comparePaths(left.path, right.path));
  listed.push(...found);
  return { omitted, isEmpty: objects.length + prefixes.length + undecodable.length === 0 };
}
