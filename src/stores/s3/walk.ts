import type { Place } from '../../domain/cursor.ts';
import { isStoreError, StoreError } from '../../domain/error.ts';
import { comparePaths, type FolderPath, foundPath } from '../../domain/path.ts';
import type { Cancellable, Entry } from '../../domain/store.ts';
import { LATER } from '../network.ts';
import type { Bucket } from './bucket.ts';
import type { Entries } from './entries.ts';
import { isEmptyMarker, type Key } from './keys.ts';
import { askForPage, LEFT_OUT, type ListedObject, MAX_KEYS, readPage } from './list.ts';
import { nameStore } from './translate.ts';

/** Some of the keys: those behind `after`, up to and with `until`; as far as there are any where undefined. */
export interface KeyRange {
  readonly after?: Key | undefined;
  readonly until?: Key | undefined;
}

/**
 * Every object whose key begins with `prefix`, in the order of `comparePaths`; those that nothing can name are told. It
 * fails where the store has another order: what comes too late would be taken for missing.
 */
export async function* walkObjects(bucket: Bucket, prefix: Key, options: Cancellable): AsyncGenerator<ListedObject> {
  for await (const objects of walkPages(bucket, prefix, {}, options)) for (const object of objects) yield object;
}

/** The same by pages, of a part of the keys. */
export async function* walkPages(
  bucket: Bucket,
  prefix: Key,
  { after, until }: KeyRange,
  { signal }: Cancellable,
): AsyncGenerator<readonly ListedObject[]> {
  let place: Place | undefined;
  let last = after;
  let before: ReadonlySet<Key> = new Set();
  let fruitless = 0;
  do {
    const page = await readPage(bucket, { prefix, limit: MAX_KEYS, place, after, signal });
    const { objects, repeated, undecodable, next } = page;
    fruitless = objects.length === 0 ? fruitless + 1 : 0;
    if (fruitless === MOST_FRUITLESS) throw endless(bucket.endpoint);
    tellUndecodable(bucket, prefix, undecodable);
    // What the page before had too is a repetition. Anything else that comes too late would be taken for missing.
    if (repeated.some((key) => !before.has(key))) throw withoutOrder();
    before = new Set([...repeated, ...objects.map(({ key }) => key)]);
    for (const { key } of objects) {
      if (last !== undefined && comparePaths(key, last) <= 0) throw withoutOrder();
      last = key;
    }
    const isPast = until !== undefined && last !== undefined && comparePaths(last, until) > 0;
    yield isPast ? objects.filter(({ key }) => comparePaths(key, until) <= 0) : objects;
    place = isPast ? undefined : next;
  } while (place);
}

/**
 * Every object whose key begins with `prefix`, for a removal, which needs no order. Where the store has another order, all
 * of them are listed before the first one is given, since a listing may skip some while others are removed.
 */
export async function* walkInAnyOrder(bucket: Bucket, prefix: Key, options: Cancellable): AsyncGenerator<ListedObject> {
  try {
    yield* walkObjects(bucket, prefix, options);
    return;
  } catch (error) {
    if (!isStoreError(error, 'unsupported')) throw error;
  }
  const found = new Map<Key, ListedObject>();
  let token: string | undefined;
  let fruitless = 0;
  do {
    const page = await askForPage(bucket, { prefix, token, ...options });
    const known = found.size;
    for (const object of page.objects) found.set(object.key, object);
    fruitless = found.size === known ? fruitless + 1 : 0;
    if (fruitless === MOST_FRUITLESS) throw endless(bucket.endpoint);
    tellUndecodable(bucket, prefix, page.undecodable);
    // Without a token, the next page begins behind the last key, which says nothing without an order.
    if (page.isTruncated && (page.token === undefined || page.token === token)) throw withoutOrder();
    token = page.isTruncated ? page.token : undefined;
  } while (token !== undefined);
  yield* found.values();
}

/** Consecutive pages without a new key that a listing may have. Buckets with many old versions have some. */
const MOST_FRUITLESS = 1000;

/** Returns the error for a listing without an end, for example of a store that gives two tokens in turn. */
function endless(endpoint: string | undefined): StoreError {
  const message = `${nameStore(endpoint)} lists a folder without end. Run "holdall doctor" to test it.`;
  return new StoreError('unavailable', message, { retryAfter: LATER });
}

/** Directory buckets of AWS are of this kind. */
function withoutOrder(): StoreError {
  const message =
    "The object store lists keys out of order: Holdall can delete its folders, and can't copy or move them.";
  return new StoreError('unsupported', message);
}

function tellUndecodable(bucket: Bucket, folder: Key, leftOut: number): void {
  if (leftOut === 0) return;
  bucket.warn('Objects stay where they are: their keys are not UTF-8, so that no request can name them.', {
    folder,
    leftOut,
  });
}

/**
 * What lies in a folder itself behind a key, by pages: keys up to the next `/`, in the order of `comparePaths`, with what
 * is no path among them.
 */
export async function* walkChildren(
  bucket: Bucket,
  folder: Key,
  after: Key,
  { signal }: Cancellable,
): AsyncGenerator<readonly Key[]> {
  let place: Place | undefined;
  do {
    const page = await readPage(bucket, { prefix: folder, delimiter: '/', limit: MAX_KEYS, place, after, signal });
    yield [...page.objects.map(({ key }) => key), ...page.prefixes].toSorted(comparePaths);
    place = page.next;
  } while (place);
}

/** `Store.walk`: the same, without the folder itself and what no path can name. */
export async function* walkEntries(
  bucket: Bucket,
  entries: Entries,
  folder: FolderPath,
  options: Cancellable,
): AsyncGenerator<Entry> {
  let leftOut = 0;
  for await (const { key, size, ...described } of walkObjects(bucket, folder, options)) {
    const isFolder = isEmptyMarker({ key, size });
    const path = foundPath(isFolder ? key.slice(0, -1) : key);
    if (key === folder && isFolder) continue;
    if (path === undefined) leftOut++;
    else if (isFolder) yield { kind: 'folder', path: key as FolderPath };
    else yield entries.listed(path, { ...described, Size: size });
  }
  if (leftOut > 0) bucket.warn(LEFT_OUT, { folder, leftOut });
}
