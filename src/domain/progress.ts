import type { Progress, Reporting } from './store.ts';

/** Counts files and bytes as they are done, and reports them. */
export interface ProgressCount {
  /** Passes `items` on; when they have ended, the total is known: as many as `isCounted` holds for. */
  counted<Item>(items: AsyncIterable<Item>, isCounted: (item: Item) => boolean): AsyncGenerator<Item>;
  /** One more file of so many bytes is done. */
  add(bytes: number): void;
}

export function countProgress({ onProgress }: Reporting): ProgressCount {
  let [seen, done, bytes] = [0, 0, 0];
  let total: number | null = null;
  const progress = (): Progress => ({ done, total, bytes });
  return {
    async *counted(items, isCounted) {
      for await (const item of items) {
        if (isCounted(item)) seen++;
        yield item;
      }
      total = seen;
      onProgress?.(progress());
    },
    add(size) {
      done++;
      bytes += size;
      onProgress?.(progress());
    },
  };
}
