import { comparePaths } from './path.ts';

/** What two folders hold at one place below them: in either or in both. */
export interface Pair<Item> {
  readonly source?: Item;
  readonly copy?: Item;
}

/** One of two folders that are held side by side: what it holds, and what each item is called below it. */
export interface Side<Item> {
  readonly items: AsyncIterable<Item>;
  below(item: Item): string;
}

/**
 * The contents of two folders side by side, joined on the path below each. Both come in the order of
 * `comparePaths`, so that neither is held in memory. Without `extras`, what only `copy` holds is left out, and nothing is
 * read behind the last item of `source`.
 */
export async function* joinPairs<Item>(
  source: Side<Item>,
  copy: Side<Item>,
  { extras }: { extras: boolean },
): AsyncGenerator<Pair<Item>> {
  const sources = source.items[Symbol.asyncIterator]();
  const copies = copy.items[Symbol.asyncIterator]();
  try {
    // Both sides are asked at once: each may be waiting for its next page.
    let [left, right] = await Promise.all([take(sources), take(copies)]);
    while (left !== undefined || (extras && right !== undefined)) {
      const order =
        left === undefined ? 1 : right === undefined ? -1 : comparePaths(source.below(left), copy.below(right));
      if (order <= 0 || extras) {
        yield {
          ...(order <= 0 && left !== undefined && { source: left }),
          ...(order >= 0 && right !== undefined && { copy: right }),
        };
      }
      if (order === 0) [left, right] = await Promise.all([take(sources), take(copies)]);
      else if (order < 0) left = await take(sources);
      else right = await take(copies);
    }
  } finally {
    await Promise.all([sources.return?.(), copies.return?.()]);
  }
}

async function take<Item>(items: AsyncIterator<Item>): Promise<Item | undefined> {
  const next = await items.next();
  return next.done ? undefined : next.value;
}
