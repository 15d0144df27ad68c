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

/** An object as a listing tells of it. */
export interface ListedObject extends Described {
  readonly key: Key;
  readonly size: number;
}

interface Page {
  /** In the order of `comparePaths`, and behind the place that was asked for. */
  readonly objects: readonly ListedObject[];
  readonly prefixes: readonly Key[];
  /** Keys of objects on this page that come before that place. */
  readonly repeated: readonly Key[];
  /** Keys that are not UTF-8, which no request can name. */
  readonly undecodable: number;
  /** Where the next page begins, if there is one. */
  readonly next?: ListingPosition | undefined;
}

/** How many pages of the store are made one, where keys are left out. */
const ROUNDS = 5;

/** The most keys that a store gives on one page. */
export const MAX_KEYS = 1000;

/**
 * The listing of a folder: keys below it up to the next `/`. Left out are markers, and keys that no path can name:
 * those are counted and told.
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
      // A page is short where the marker of the folder counts in it; it is filled up, but not for however long.
      if (place && found.length < limit && round < ROUNDS) continue;
      if (allLeftOut > 0) bucket.warn(INVALID_KEYS_MESSAGE, { folder, leftOut: allLeftOut });
      entries.rememberPage(found);
      return { entries: found, cursor: place && encodeCursor(place) };
    }
  };
}

/** Told where that is so, with how many they were. */
export const INVALID_KEYS_MESSAGE = 'Objects were left out of a listing: no path can name them.';

/** Asks for a listing as it is. `query` has the parameters of ListObjectsV2. */
export function requestList(bucket: Bucket, query: Query, { signal }: Cancellable): Promise<ListResponse> {
  return bucket.ask({ signal }, (options) => bucket.objects.list(query, options));
}

interface PageRequest extends Cancellable {
  readonly prefix: Key;
  readonly delimiter?: '/';
  readonly limit: number;
  readonly place: ListingPosition | undefined;
  /** The key behind which the first page begins. */
  readonly after?: Key | undefined;
}

/**
 * One page, whatever liberties the store takes: prefixes that it gave on the page before are dropped; where it says
 * that there is more and gives no token, or the same again, it is asked for what is behind the last key.
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

/** One page of the objects whose keys begin with `prefix`, in the order of the store. */
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

/** Decodes the keys of a page. Throws if it lists anything else than what was asked for: its keys would be removed. */
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
 * Whether there is another way to ask for more behind a page with nothing new on it: after one that a token led to,
 * with the next token or else by the last key; after the first one, with its token. Behind the last key, a store that
 * gave nothing has nothing, whatever it says.
 */
function hasOtherWay(place: ListingPosition | undefined, next: ListingPosition): boolean {
  return (place ?? next).token !== undefined;
}

/** The key behind which a listing has neither `last` nor, if that may be a prefix, anything below it. */
const behind = (last: Key, delimiter: '/' | undefined): Key =>
  delimiter !== undefined && last.endsWith(delimiter) ? `${last}\u{10ffff}` : last;

/** Adds what a page has to what was found before it. */
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
