import type { Progress, Reporting } from '../model/store.ts';

/** Counts the finished files and bytes of an operation, and reports them. */
export class ProgressCounter {
  readonly #onProgress: Reporting['onProgress'];
  #done = 0;
  #bytes = 0;
  #total: number | null = null;

  constructor({ onProgress }: Reporting) {
    this.#onProgress = onProgress;
  }

  /** Adds one finished file of this many bytes. */
  add(bytes: number): void {
    this.#done++;
    this.#bytes += bytes;
    this.#report();
  }

  /** Passes `items` through, and counts the files among them. Their number is the total, which is known at the end. */
  async *countFiles<Item>(items: AsyncIterable<Item>, isFile: (item: Item) => boolean): AsyncGenerator<Item> {
    let files = 0;
    for await (const item of items) {
      if (isFile(item)) files++;
      yield item;
    }
    this.#total = files;
    this.#report();
  }

  #report(): void {
    const progress: Progress = { done: this.#done, total: this.#total, bytes: this.#bytes };
    this.#onProgress?.(progress);
  }
}
