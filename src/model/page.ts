import { partitionPoint } from './binary-search.ts';
import { quoted, StoreError } from './error.ts';
import { type KeptId, timeOfKeptId } from './kept-ids.ts';
import { comparePaths, type FolderPath } from './path.ts';

/** The position at which a listing continues: after the path `last`, and with the store's own token if it has one. */
export interface ListingPosition {
  readonly token?: string | undefined;
  readonly last: string;
}

/** Returns the cursor for a position: JSON in base64url, which needs no escaping in a URL. */
export function encodeCursor({ token, last }: ListingPosition): string {
  return Buffer.from(JSON.stringify([last, ...(token === undefined ? [] : [token])])).toString('base64url');
}

/**
 * Returns the position of a cursor. Throws `invalid-cursor` if no listing of `folder` can have issued it. Otherwise
 * an invalid cursor would look like the end of the listing.
 */
export function decodeCursor(cursor: string, folder: FolderPath): ListingPosition {
  const [last, token] = parse(cursor);
  if (isText(last) && (token === undefined || isText(token))) {
    const position = { last, token };
    if (isAfterChild(position, folder) && encodeCursor(position) === cursor) return position;
  }
  throw invalidCursor(cursor);
}

export function invalidCursor(cursor: string, cause?: unknown): StoreError {
  const message = `The cursor ${quoted(cursor)} is not from a listing of this folder. List the folder again from the beginning.`;
  return new StoreError('invalid-cursor', message, { cause });
}

/**
 * Returns whether the position is after a direct child of `folder`. After a page without entries, `last` is the
 * folder itself and the token alone gives the position.
 */
function isAfterChild({ last, token }: ListingPosition, folder: FolderPath): boolean {
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

/** Sorted items: an array, or an object that creates them on demand. */
export interface Items<Item> {
  readonly length: number;
  at(index: number): Item | undefined;
  slice(start: number, end: number): readonly Item[];
}

/**
 * Returns one page of `items`: at most `limit` items after `cursor`. For stores that have all items of a folder.
 * `items` are in the order of `comparePaths` by `pathOf`. Items that are added or removed between two pages don't
 * shift the others.
 */
export function pageOf<Item>(
  folder: FolderPath,
  items: Items<Item>,
  { cursor, limit = items.length }: { cursor?: string; limit?: number },
  pathOf: (item: Item) => string,
): { items: readonly Item[]; cursor?: string } {
  const start = cursor === undefined ? 0 : indexAfter(items, pathOf, decodeCursor(cursor, folder).last);
  const page = items.slice(start, start + limit);
  const last = page.at(-1);
  if (last === undefined || start + limit >= items.length) return { items: page };
  return { items: page, cursor: encodeCursor({ last: pathOf(last) }) };
}

function indexAfter<Item>(items: Items<Item>, pathOf: (item: Item) => string, path: string): number {
  return partitionPoint(items.length, (index) => {
    const item = items.at(index);
    return item !== undefined && comparePaths(pathOf(item), path) <= 0;
  });
}

/**
 * Returns one page of `ids`, which are sorted ascending: at most `limit` ids after `cursor`, which is the last id of the
 * previous page. For stores whose ids come from `newKeptId`.
 */
export function pageOfIds(
  ids: readonly KeptId[],
  { cursor, limit = ids.length }: { cursor?: string; limit?: number },
): { ids: readonly KeptId[]; cursor?: string } {
  if (cursor !== undefined && timeOfKeptId(cursor) === undefined) throw invalidCursor(cursor);
  const start = cursor === undefined ? 0 : partitionPoint(ids.length, (index) => (ids[index] ?? '') <= cursor);
  const page = ids.slice(start, start + limit);
  const last = page.at(-1);
  return start + limit < ids.length && last !== undefined ? { ids: page, cursor: last } : { ids: page };
}
