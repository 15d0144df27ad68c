import { readCursor, writeCursor } from '../domain/cursor.ts';
import { comparePaths, type FolderPath } from '../domain/path.ts';

/**
 * One page of `items`, which are in the order of `comparePaths` by the path that `pathOf` gives of each: those behind
 * `cursor`, at most `limit`. For stores that have a whole folder at hand; what is added or removed between two pages
 * shifts nothing.
 */
export function pageOf<Item>(
  folder: FolderPath,
  items: readonly Item[],
  { cursor, limit = items.length }: { cursor?: string; limit?: number },
  pathOf: (item: Item) => string,
): { items: readonly Item[]; cursor?: string } {
  const start = cursor === undefined ? 0 : firstBehind(items, pathOf, readCursor(cursor, folder).last);
  const page = items.slice(start, start + limit);
  const last = page.at(-1);
  if (last === undefined || start + limit >= items.length) return { items: page };
  return { items: page, cursor: writeCursor({ last: pathOf(last) }) };
}

function firstBehind<Item>(items: readonly Item[], pathOf: (item: Item) => string, path: string): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && comparePaths(pathOf(item), path) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
