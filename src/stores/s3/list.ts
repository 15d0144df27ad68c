import { decodeCursor, encodeCursor, invalidCursor, type ListingPosition } from '../../model/page.ts';
import { comparePaths, type FolderPath, foundFile, foundFolder, ROOT } from '../../model/path.ts';
import type { Cancellable, Entry, Store } from '../../model/store.ts';
import { notFound } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import type { Described, Entries } from './entries.ts';
import { codeOf, listingMismatch } from './errors.ts';
import { decodeKey, isEmptyMarker, type Key } from './keys.ts';
import type { ListResponse } from './responses.ts';
import type { Query } from './signature.ts';

/** An object in a listing. */
export interface ListedObject extends Described {
  readonly key: Key;
  readonly size: number;
}

interface Page {
  /** In the order of `comparePaths`, after the requested position. */
  readonly objects: readonly ListedObject[];
  readonly prefixes: readonly Key[];
  /** Keys of objects on this page that are not after the requested position. */
  readonly repeated: readonly Key[];
  /** The number of keys that are not UTF-8. No request can contain them. */
  readonly undecodable: number;
  /** The position of the next page; undefined on the last page. */
  readonly next?: ListingPosition | undefined;
}

/** Maximum pages of the store that are combined to fill one page when keys are omitted. */
const ROUNDS = 5;

/** Maximum keys that a store returns on one page. */
export const MAX_KEYS = 1000;

/**
 * Creates the listing of folders: the keys below a folder up to the next `/`. Omits folder markers and keys that are
 * not valid paths. Logs how many invalid keys it omitted.
 */
export function createLister(bucket: Bucket, entries: Entries): Store['list'] {
  return async (folder, { cursor, limit = MAX_KEYS, signal } = {}) => {
    let place = cursor === undefined ? undefined : decodeCursor(cursor, folder);
    const isFirst = place === undefined;
    const found: Entry[] = [];
    let allLeftOut = 0;
    for (let round = 1; ; round++) {
      const page = await readPage(bucket, {
        prefix: folder,
        delimiter: '/',
        limit: limit - found.length,
        place,
        signal,
      });
      const { leftOut, isEmpty } = addEntries(found, page, folder, entries);
      if (isFirst && round === 1 && isEmpty && !page.next && folder !== ROOT) throw notFound(folder);
      allLeftOut += leftOut;
      place = page.next;
      // Omitted keys, such as the folder marker, make a page short. Fill it with a limited number of further requests.
      if (place && found.length < limit && round < ROUNDS) continue;
      if (allLeftOut > 0) bucket.warn(INVALID_KEYS_MESSAGE, { folder, leftOut: allLeftOut });
      entries.rememberPage(found);
      return { entries: found, cursor: place && encodeCursor(place) };
    }
  };
}

/** The log message about omitted keys. Its field `leftOut` is their number. */
export const INVALID_KEYS_MESSAGE = 'Objects were left out of a listing: no path can name them.';

/** Sends ListObjectsV2 with the parameters in `query`, and returns the response unchanged. */
export function requestList(bucket: Bucket, query: Query, { signal }: Cancellable): Promise<ListResponse> {
  return bucket.ask({ signal }, (options) => bucket.objects.list(query, options));
}

interface PageRequest extends Cancellable {
  readonly prefix: Key;
  readonly delimiter?: '/';
  readonly limit: number;
  readonly place: ListingPosition | undefined;
  /** The first page begins after this key. */
  readonly after?: Key | undefined;
}

/**
 * Returns one page of a listing, and corrects deviations of the store. Drops prefixes that the previous page contained.
 * If a truncated response has no token or repeats the token, the next page begins after the last key.
 *
 * Throws `invalid-request` if the store rejects the continuation token.
 */
export async function readPage(
  bucket: Bucket,
  { prefix, delimiter, limit, place, after, signal }: PageRequest,
): Promise<Page> {
  const start = place?.last ?? after;
  const output = await requestList(
    bucket,
    {
      prefix,
      delimiter,
      'max-keys': String(limit),
      'encoding-type': 'url',
      'continuation-token': place?.token,
      'start-after': start !== undefined && place?.token === undefined ? behind(start, delimiter) : undefined,
    },
    { signal },
  ).catch((error: unknown) => {
    const isRefused = place?.token !== undefined && error instanceof Error && codeOf(error.cause) === 'InvalidArgument';
    throw isRefused ? invalidCursor(place.token ?? '', error) : error;
  });
  const { objects: all, prefixes: allPrefixes, undecodable } = decodeAll(bucket, output, { prefix, delimiter });
  const isNew = (key: Key) => start === undefined || comparePaths(key, start) > 0;
  const objects = all.filter(({ key }) => isNew(key));
  const repeated = all.flatMap(({ key }) => (isNew(key) ? [] : [key]));
  const prefixes = allPrefixes.filter(isNew);
  const last = [objects.at(-1)?.key, prefixes.at(-1), start].filter((key) => key !== undefined);
  const next = {
    token: output.token === place?.token ? undefined : output.token,
    last: last.toSorted(comparePaths).at(-1) ?? prefix,
  };
  const isNewer = next.last !== (start ?? prefix);
  const goesOn = output.isTruncated && (isNewer || hasOtherWay(place, next));
  return { objects, prefixes, repeated, undecodable, next: goesOn ? next : undefined };
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
): Promise<Pick<Page, 'objects' | 'undecodable'> & Pick<ListResponse, 'isTruncated' | 'token'>> {
  const query = { prefix, 'max-keys': String(limit), 'encoding-type': 'url', 'continuation-token': token };
  const answer = await requestList(bucket, query, { signal });
  return { ...decodeAll(bucket, answer, { prefix }), isTruncated: answer.isTruncated, token: answer.token };
}

/**
 * Decodes the keys of a page. Throws if the page contains keys that were not requested, because a caller may delete the
 * listed keys.
 */
function decodeAll(
  { endpoint }: Bucket,
  answer: ListResponse,
  { prefix, delimiter }: Pick<PageRequest, 'prefix' | 'delimiter'>,
): Pick<Page, 'objects' | 'prefixes' | 'undecodable'> {
  const decode = answer.isEscaped ? decodeKey : (key: string) => key;
  const objects: ListedObject[] = [];
  let undecodable = 0;
  for (const { key: written, size, ETag, LastModified } of answer.objects) {
    const key = decode(written);
    if (key === undefined) undecodable++;
    // Some stores list a key twice.
    else if (key !== objects.at(-1)?.key) objects.push({ key, size, ETag, LastModified });
  }
  const allPrefixes = answer.prefixes.map(decode);
  const prefixes = [...new Set(allPrefixes.filter((key) => key !== undefined))];
  undecodable += allPrefixes.filter((key) => key === undefined).length;
  const isBelow = (key: Key) => key.startsWith(prefix) && !(delimiter && key.includes(delimiter, prefix.length));
  const isFolder = (key: Key) => delimiter !== undefined && key.endsWith(delimiter) && isBelow(key.slice(0, -1));
  if (!objects.every(({ key }) => isBelow(key)) || !prefixes.every(isFolder)) throw listingMismatch(endpoint);
  return { objects, prefixes, undecodable };
}

/**
 * Returns whether another request can continue after a page without new keys. A page requested by token can continue
 * with the next token or after the last key. The first page can continue with its token. An empty page requested after
 * the last key ends the listing, even if the response is truncated.
 */
function hasOtherWay(place: ListingPosition | undefined, next: ListingPosition): boolean {
  return (place ?? next).token !== undefined;
}

/** Returns the `start-after` key that excludes `last` and, if `last` can be a prefix, everything below it. */
const behind = (last: Key, delimiter: '/' | undefined): Key =>
  delimiter !== undefined && last.endsWith(delimiter) ? `${last}\u{10ffff}` : last;

/** Adds the entries of a page to `known`. Returns how many keys it omitted, and whether the page was empty. */
function addEntries(known: Entry[], { objects, prefixes, undecodable }: Page, folder: FolderPath, entries: Entries) {
  const found: Entry[] = [];
  let leftOut = undecodable;
  const add = (entry: Entry | undefined) => {
    if (entry) found.push(entry);
    else leftOut++;
  };
  for (const { key, size, ETag, LastModified } of objects) {
    if (key === folder && isEmptyMarker({ key, size })) continue;
    const path = foundFile(folder, key.slice(folder.length));
    add(path && entries.listed(path, { Size: size, ETag, LastModified }));
  }
  for (const key of prefixes) {
    const path = foundFolder(folder, key.slice(folder.length, -1));
    add(path && { kind: 'folder', path });
  }
  found.sort((left, right) => comparePaths(left.path, right.path));
  known.push(...found);
  return { leftOut, isEmpty: objects.length + prefixes.length + undecodable === 0 };
}
