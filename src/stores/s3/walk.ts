import { mapAhead } from '../../concurrency/concurrently.ts';
import { isStoreError, quoted, StoreError } from '../../model/error.ts';
import type { ListingPosition } from '../../model/page.ts';
import { comparePaths, type FolderPath, foundPath } from '../../model/path.ts';
import type { Cancellable, Entry } from '../../model/store.ts';
import type { Bucket } from './bucket.ts';
import type { Entries } from './entries.ts';
import { endlessListing, unorderedListing } from './errors.ts';
import { isEmptyMarker, type Key, maxPathBytesOf } from './keys.ts';
import { INVALID_KEYS_MESSAGE, MAX_KEYS, readPage, requestPage } from './list.ts';
import type { ListedObject } from './operations.ts';
import { AFTER_OWN_FOLDER, isOwn, OWN_FOLDER } from './own-folder.ts';

interface Strictness {
  readonly isStrict?: boolean;
}

/** A range of keys: after `after`, up to and including `until`. An undefined bound does not limit the range. */
export interface KeyRange {
  readonly after?: Key | undefined;
  readonly until?: Key | undefined;
}

/**
 * Yields each object whose key begins with `prefix`, in the order of `comparePaths`. Logs the number of keys that are
 * not UTF-8; with `isStrict`, throws `invalid-path` for the first. Throws `unsupported` if the store lists in another
 * order, because a late object would count as missing.
 */
export async function* walkObjects(
  bucket: Bucket,
  prefix: Key,
  options: Strictness & Cancellable,
): AsyncGenerator<ListedObject> {
  for await (const objects of walkPages(bucket, prefix, {}, options)) for (const object of objects) yield object;
}

/** Yields the same objects by pages, limited to a range of keys. */
export async function* walkPages(
  bucket: Bucket,
  prefix: Key,
  { after, until }: KeyRange,
  { isStrict, signal }: Strictness & Cancellable,
): AsyncGenerator<readonly ListedObject[]> {
  let position: ListingPosition | undefined;
  let last = after;
  let before: ReadonlySet<Key> = new Set();
  let emptyPages = 0;
  do {
    const page = await readPage(bucket, { prefix, limit: MAX_KEYS, position, after, signal });
    const { objects, repeated, undecodable, next } = page;
    emptyPages = objects.length === 0 ? emptyPages + 1 : 0;
    if (emptyPages === MAX_EMPTY_PAGES) throw endlessListing(bucket.endpoint);
    const [first] = undecodable;
    if (isStrict && first !== undefined) throw notUtf8(first);
    warnOfUndecodable(bucket, prefix, undecodable.length);
    // A store might repeat keys of the previous page. Any other key out of order would count as missing.
    if (repeated.some((key) => !before.has(key))) throw unorderedListing();
    before = new Set([...repeated, ...objects.map(({ key }) => key)]);
    for (const { key } of objects) {
      if (last !== undefined && comparePaths(key, last) <= 0) throw unorderedListing();
      last = key;
    }
    const isPast = until !== undefined && last !== undefined && comparePaths(last, until) > 0;
    yield isPast ? objects.filter(({ key }) => comparePaths(key, until) <= 0) : objects;
    position = isPast ? undefined : next;
  } while (position);
}

/**
 * Yields each object whose key begins with `prefix`, in any order, for deletes. If the store lists in another order
 * than `comparePaths`, lists all objects before it yields the first. A listing might skip objects while others are
 * deleted.
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
  let emptyPages = 0;
  do {
    const page = await requestPage(bucket, { prefix, token, ...options });
    const known = found.size;
    for (const object of page.objects) found.set(object.key, object);
    emptyPages = found.size === known ? emptyPages + 1 : 0;
    if (emptyPages === MAX_EMPTY_PAGES) throw endlessListing(bucket.endpoint);
    warnOfUndecodable(bucket, prefix, page.undecodable.length);
    // Without a token, the next page would begin after the last key, which requires an order.
    if (page.isTruncated && (page.token === undefined || page.token === token)) throw unorderedListing();
    token = page.isTruncated ? page.token : undefined;
  } while (token !== undefined);
  yield* found.values();
}

/** Maximum consecutive pages without a new key. Buckets with many old versions have some such pages. */
const MAX_EMPTY_PAGES = 1000;

function notUtf8(encodedKey: string): StoreError {
  const message = `The key ${quoted(encodedKey)} is not UTF-8, so no request can copy or move it. Rename or delete the object with another program.`;
  return new StoreError('invalid-path', message);
}

function warnOfUndecodable(bucket: Bucket, folder: Key, omitted: number): void {
  if (omitted === 0) return;
  bucket.warn('Objects are not copied, moved or deleted: their keys are not UTF-8, so no request can name them.', {
    folder,
    omitted,
  });
}

/**
 * Yields the direct children of a folder after a key, by pages: keys up to the next `/`, in the order of
 * `comparePaths`. Includes keys that are not valid paths.
 */
export async function* walkChildren(
  bucket: Bucket,
  folder: Key,
  after: Key,
  { signal }: Cancellable,
): AsyncGenerator<readonly Key[]> {
  let position: ListingPosition | undefined;
  do {
    const page = await readPage(bucket, { prefix: folder, delimiter: '/', limit: MAX_KEYS, position, after, signal });
    yield [...page.objects.map(({ key }) => key), ...page.prefixes].toSorted(comparePaths);
    position = page.next;
  } while (position);
}

/** `Store.walk`: yields the entries of all objects in a folder, without the folder itself and without invalid paths. */
export async function* walkEntries(
  bucket: Bucket,
  entries: Entries,
  folder: FolderPath,
  options: Cancellable,
): AsyncGenerator<Entry> {
  let omitted = 0;
  for await (const object of walkServed(bucket, folder, options)) {
    const { key } = object;
    const isFolder = isEmptyMarker(object);
    const path = foundPath(isFolder ? key.slice(0, -1) : key, maxPathBytesOf(bucket));
    if (key === folder && isFolder) continue;
    if (path === undefined) omitted++;
    else if (isFolder) yield { kind: 'folder', path: key as FolderPath };
    else yield entries.listed(path, object);
  }
  if (omitted > 0) bucket.warn(INVALID_KEYS_MESSAGE, { folder, omitted });
}

/** Yields the objects in a folder like `walkObjects`, without those in Holdall's own folder, which can be many. */
async function* walkServed(bucket: Bucket, folder: FolderPath, options: Cancellable): AsyncGenerator<ListedObject> {
  let last: Key | undefined;
  for await (const objects of walkPages(bucket, folder, {}, options)) {
    for (const object of objects) if (!isOwn(object.key)) yield object;
    last = objects.at(-1)?.key ?? last;
    // The rest of the own folder might have thousands of pages.
    if (last?.startsWith(OWN_FOLDER)) break;
  }
  if (!last?.startsWith(OWN_FOLDER)) return;
  for await (const objects of walkPages(bucket, folder, { after: AFTER_OWN_FOLDER }, options)) yield* objects;
}

/** Pages that are read one by one before the rest is split into ranges. Small folders thus cost no extra request. */
const SEQUENTIAL_PAGES = 4;

/** The approximate number of pages in a range. Each range takes up to one extra request, which is one in six. */
const PAGES_PER_RANGE = 6;

/**
 * Ranges that are read in parallel. Eight gain little with a nearby store, and need more memory
 * (docs/explanation/scaling.md).
 */
const MAX_CONCURRENT_RANGES = 4;

/** Maximum prefetched pages of a range: all of its pages, even if the range is larger than estimated. */
const MAX_PREFETCHED_PAGES = 8;

/** Minimum average number of objects per child of a folder. With fewer, listing the children costs too much. */
const MIN_OBJECTS_PER_CHILD = 10;

type Page = readonly ListedObject[];

/**
 * Yields the same objects as `walkObjects`, faster for large folders. Reads several ranges of keys in parallel, so that
 * the latency of a distant store does not add up per page. The objects might have been listed seconds before.
 *
 * Each range begins where the previous one ends, so each key is in exactly one range, even if objects change meanwhile.
 * The bounds are subfolders. A large folder without subfolders is read page by page.
 */
export async function* walkAhead(bucket: Bucket, prefix: Key, { signal }: Cancellable): AsyncGenerator<ListedObject> {
  const stopped = new AbortController();
  const options = { signal: signal ? AbortSignal.any([signal, stopped.signal]) : stopped.signal };
  try {
    for await (const page of pagesAhead(bucket, prefix, options)) for (const object of page) yield object;
  } finally {
    // Abort the prefetched pages that are no longer needed.
    stopped.abort();
  }
}

async function* pagesAhead(bucket: Bucket, prefix: Key, options: Cancellable): AsyncGenerator<Page> {
  const read = (range: KeyRange, ahead: number) => readAhead(walkPages(bucket, prefix, range, options), ahead);
  let pages = read({}, 1);
  let recent: Page[] = [];
  for (let next = await pages.next(); !next.done; next = await pages.next()) {
    yield next.value;
    recent.push(next.value);
    if (recent.length < SEQUENTIAL_PAGES) continue;
    const ranges = rangesAfter(bucket, prefix, recent.flat(), options);
    recent = [];
    let end: Key | undefined;
    for await (const { item, found } of mapAhead(ranges, MAX_CONCURRENT_RANGES, async (range) =>
      read(range, MAX_PREFETCHED_PAGES),
    )) {
      yield* found;
      end = item.until;
    }
    if (end !== undefined) pages = read({ after: end }, 1);
  }
}

/**
 * Yields ranges of keys after `objects`, which are `SEQUENTIAL_PAGES` consecutive pages, up to the end of their
 * innermost common folder. Each range covers as many children of that folder as have about `PAGES_PER_RANGE` pages of
 * objects. Estimates the number from `objects`.
 */
async function* rangesAfter(
  bucket: Bucket,
  prefix: Key,
  objects: readonly ListedObject[],
  options: Cancellable,
): AsyncGenerator<KeyRange> {
  const [first, last] = [objects.at(0)?.key, objects.at(-1)?.key];
  if (first === undefined || last === undefined) return;
  const folder = commonFolder(first, last, prefix);
  const perChild = objects.length / new Set(objects.map(({ key }) => childOf(folder, key))).size;
  if (perChild < MIN_OBJECTS_PER_CHILD) return;
  const children = Math.ceil((PAGES_PER_RANGE * objects.length) / SEQUENTIAL_PAGES / perChild);
  let after = last;
  let skipped = 0;
  for await (const page of walkChildren(bucket, folder, childOf(folder, last), options)) {
    for (const child of page) {
      if (++skipped % children !== 0) continue;
      yield { after, until: child };
      after = child;
    }
  }
}

/** Returns the innermost folder at or below `prefix` that contains both keys. */
function commonFolder(left: Key, right: Key, prefix: Key): Key {
  let length = prefix.length;
  for (let index = length; index < left.length && left[index] === right[index]; index++) {
    if (left[index] === '/') length = index + 1;
  }
  return left.slice(0, length);
}

/** Returns the direct child of `folder` that is `key` or contains it. */
function childOf(folder: Key, key: Key): Key {
  const end = key.indexOf('/', folder.length);
  return end === -1 ? key : key.slice(0, end + 1);
}

/** Yields `pages`, and prefetches: `ahead` requests are in progress from the call on, and after each page. */
function readAhead(pages: AsyncGenerator<Page>, ahead: number): AsyncGenerator<Page> {
  const request = () => {
    const next = pages.next();
    // Prevents an unhandled rejection. The consumer receives the error when it reaches this page.
    next.catch(() => {});
    return next;
  };
  const requested = Array.from({ length: ahead }, request);
  return (async function* () {
    for (;;) {
      const next = await requested.shift();
      if (!next || next.done) return;
      requested.push(request());
      yield next.value;
    }
  })();
}
