import { readCursor, writeCursor } from '../domain/cursor.ts';
import { comparePaths, type FolderPath } from '../domain/path.ts';

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
  const start = cursor === undefined ? 0 : firstBehind(items, pathOf, readCursor(cursor, folder).last);
  const page = items.slice(start, start + limit);
  const last = page.at(-1);
  if (last === undefined || start + limit >= items.length) return { items: page };
  return { items: page, cursor: writeCursor({ last: pathOf(last) }) };
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
