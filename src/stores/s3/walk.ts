import type { Place } from '../../domain/cursor.ts';
import { StoreError } from '../../domain/error.ts';
import { comparePaths, type FolderPath, foundPath } from '../../domain/path.ts';
import type { Cancellable, Entry } from '../../domain/store.ts';
import type { Bucket } from './bucket.ts';
import type { Entries } from './entries.ts';
import { isEmptyMarker, type Key } from './keys.ts';
import { LEFT_OUT, type ListedObject, MAX_KEYS, readPage } from './list.ts';

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
  do {
    const { objects, undecodable, next } = await readPage(bucket, { prefix, limit: MAX_KEYS, place, after, signal });
    if (undecodable > 0) {
      bucket.warn('Objects stay where they are: their keys are not UTF-8, so that no request can name them.', {
        folder: prefix,
        leftOut: undecodable,
      });
    }
    for (const { key } of objects) {
      if (last !== undefined && comparePaths(key, last) <= 0) throw withoutOrder();
      last = key;
    }
    const isPast = until !== undefined && last !== undefined && comparePaths(last, until) > 0;
    yield isPast ? objects.filter(({ key }) => comparePaths(key, until) <= 0) : objects;
    place = isPast ? undefined : next;
  } while (place);
}

/** Directory buckets of AWS are of this kind. */
function withoutOrder(): StoreError {
  return new StoreError('unsupported', "The object store lists keys out of order, and folders can't be handled then.");
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
