import { quoted, StoreError } from './error.ts';
import { comparePaths, type FolderPath } from './path.ts';

/** Where a listing goes on: behind the last path that it gave, and with the token of a store that has such. */
export interface ListingPosition {
  readonly token?: string | undefined;
  readonly last: string;
}

/** Base64url of JSON, so that it survives a URL as it is. */
export function encodeCursor({ token, last }: ListingPosition): string {
  return Buffer.from(JSON.stringify([last, ...(token === undefined ? [] : [token])])).toString('base64url');
}

/** Throws `invalid-request` for what no listing of `folder` can have given: else it would pass for the end of one. */
export function decodeCursor(cursor: string, folder: FolderPath): ListingPosition {
  const [last, token] = parse(cursor);
  if (isText(last) && (token === undefined || isText(token))) {
    const place = { last, token };
    if (isBehind(place, folder) && encodeCursor(place) === cursor) return place;
  }
  throw invalidCursor(cursor);
}

export function invalidCursor(cursor: string, cause?: unknown): StoreError {
  const message = `The cursor ${quoted(cursor)} is not one that a listing of this folder gave.`;
  return new StoreError('invalid-request', message, { cause });
}

/** Whether the place is behind a child; a page on which nothing was found goes on behind the folder, by token alone. */
function isBehind({ last, token }: ListingPosition, folder: FolderPath): boolean {
  if (last === folder) return token !== undefined;
  return last.startsWith(folder) && !last.slice(folder.length, -1).includes('/');
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.isWellFormed();

function parse(cursor: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

/** Sorted items: an array, or something that makes them when asked. */
export interface Items<Item> {
  readonly length: number;
  at(index: number): Item | undefined;
  slice(start: number, end: number): readonly Item[];
}

/**
 * Returns one page of `items`: at most `limit` of those after `cursor`. The items are in the order of `comparePaths` by
 * `pathOf`. For stores that have all items of a folder. Items added or removed between two pages shift nothing.
 */
export function pageOf<Item>(
  folder: FolderPath,
  items: Items<Item>,
  { cursor, limit = items.length }: { cursor?: string; limit?: number },
  pathOf: (item: Item) => string,
): { items: readonly Item[]; cursor?: string } {
  const start = cursor === undefined ? 0 : firstBehind(items, pathOf, decodeCursor(cursor, folder).last);
  const page = items.slice(start, start + limit);
  const last = page.at(-1);
  if (last === undefined || start + limit >= items.length) return { items: page };
  return { items: page, cursor: encodeCursor({ last: pathOf(last) }) };
}

function firstBehind<Item>(items: Items<Item>, pathOf: (item: Item) => string, path: string): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items.at(middle);
    if (item !== undefined && comparePaths(pathOf(item), path) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
