import { mapAhead } from '../../concurrency/concurrently.ts';
import { isStoreError, StoreError } from '../../model/error.ts';
import type { ListingPosition } from '../../model/page.ts';
import { comparePaths, type FolderPath, foundPath } from '../../model/path.ts';
import type { Cancellable, Entry } from '../../model/store.ts';
import { RETRY_LATER_SECONDS } from '../network.ts';
import type { Bucket } from './bucket.ts';
import type { Entries } from './entries.ts';
import { nameStore } from './errors.ts';
import { isEmptyMarker, type Key } from './keys.ts';
import { INVALID_KEYS_MESSAGE, type ListedObject, MAX_KEYS, readPage, requestPage } from './list.ts';

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
  let place: ListingPosition | undefined;
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
    const page = await requestPage(bucket, { prefix, token, ...options });
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
  return new StoreError('unavailable', message, { retryAfter: RETRY_LATER_SECONDS });
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
  let place: ListingPosition | undefined;
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
  if (leftOut > 0) bucket.warn(INVALID_KEYS_MESSAGE, { folder, leftOut });
}

/** Pages that are read one after the other before it is asked what comes behind them: small folders cost no more. */
const FEW = 4;

/** The approximate number of pages in a range. Each range takes up to one extra request, which is one in six. */
const PAGES_PER_RANGE = 6;

/** Ranges that are read at once: eight win little where a store is near, and take more memory (docs/scaling.md). */
const RANGES_AT_ONCE = 4;

/** Pages of a range that may wait for their turn: all that it has, also where it is larger than was reckoned. */
const PAGES_AHEAD = 8;

/** The objects that each child of a folder has to have on average for the listing of the children to be worth it. */
const LEAST_PER_CHILD = 10;

type Page = readonly ListedObject[];

/**
 * As `walkObjects`, for looks at large folders: ranges of them are read at once, so that a store that is far away is not
 * waited for at each page. What it gives may have been listed seconds ago.
 *
 * Where one range ends the next begins, so that each key is in exactly one, whatever comes and goes meanwhile. They are
 * cut by the folders within; what is one large folder without any is read page by page.
 */
export async function* walkAhead(bucket: Bucket, prefix: Key, { signal }: Cancellable): AsyncGenerator<ListedObject> {
  const left = new AbortController();
  const options = { signal: signal ? AbortSignal.any([signal, left.signal]) : left.signal };
  try {
    for await (const page of pagesAhead(bucket, prefix, options)) for (const object of page) yield object;
  } finally {
    // What was asked for ahead and is no longer wanted.
    left.abort();
  }
}

async function* pagesAhead(bucket: Bucket, prefix: Key, options: Cancellable): AsyncGenerator<Page> {
  const read = (range: KeyRange, ahead: number) => readAhead(walkPages(bucket, prefix, range, options), ahead);
  let pages = read({}, 1);
  let few: Page[] = [];
  for (let next = await pages.next(); !next.done; next = await pages.next()) {
    yield next.value;
    few.push(next.value);
    if (few.length < FEW) continue;
    const ranges = rangesBehind(bucket, prefix, few.flat(), options);
    few = [];
    let end: Key | undefined;
    for await (const { item, found } of mapAhead(ranges, RANGES_AT_ONCE, async (range) => read(range, PAGES_AHEAD))) {
      yield* found;
      end = item.until;
    }
    if (end !== undefined) pages = read({ after: end }, 1);
  }
}

/**
 * Ranges behind the last of some objects that lie one behind the other, `FEW` pages of them, as far as the folder goes
 * that they are spread over: each of as many of its children as would have about `PAGES_PER_RANGE` pages of objects, if
 * they are like those that are known.
 */
async function* rangesBehind(
  bucket: Bucket,
  prefix: Key,
  objects: readonly ListedObject[],
  options: Cancellable,
): AsyncGenerator<KeyRange> {
  const [first, last] = [objects.at(0)?.key, objects.at(-1)?.key];
  if (first === undefined || last === undefined) return;
  const folder = commonFolder(first, last, prefix);
  const perChild = objects.length / new Set(objects.map(({ key }) => childOf(folder, key))).size;
  if (perChild < LEAST_PER_CHILD) return;
  const children = Math.ceil((PAGES_PER_RANGE * objects.length) / FEW / perChild);
  let after = last;
  let passed = 0;
  for await (const page of walkChildren(bucket, folder, childOf(folder, last), options)) {
    for (const child of page) {
      if (++passed % children !== 0) continue;
      yield { after, until: child };
      after = child;
    }
  }
}

/** The innermost folder at or below `prefix` that holds both keys. */
function commonFolder(left: Key, right: Key, prefix: Key): Key {
  let length = prefix.length;
  for (let index = length; index < left.length && left[index] === right[index]; index++) {
    if (left[index] === '/') length = index + 1;
  }
  return left.slice(0, length);
}

/** What a folder holds itself that the key is, or lies in. */
function childOf(folder: Key, key: Key): Key {
  const end = key.indexOf('/', folder.length);
  return end === -1 ? key : key.slice(0, end + 1);
}

/** Passes on what `pages` gives. At once, and whenever one is taken, it is seen to that `ahead` of them are asked for. */
function readAhead(pages: AsyncGenerator<Page>, ahead: number): AsyncGenerator<Page> {
  const ask = () => {
    const next = pages.next();
    // It is thrown when its turn comes, if it does.
    next.catch(() => {});
    return next;
  };
  const asked = Array.from({ length: ahead }, ask);
  return (async function* () {
    for (;;) {
      const next = await asked.shift();
      if (!next || next.done) return;
      asked.push(ask());
      yield next.value;
    }
  })();
}
