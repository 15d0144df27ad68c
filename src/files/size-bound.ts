const MS_PER_MINUTE = 60_000;

/** What happens to an item: its minute decides, or `choose` does because the bound lies within its minute. */
export type Verdict = 'keep' | 'remove' | 'undecided';

/**
 * Finds the oldest items to remove, so that the others fit into a number of bytes, in two passes through any number of
 * items. It remembers one number for each minute, and not each item.
 */
export class SizeBound {
  readonly #maxBytes: number;
  readonly #bytesByMinute = new Map<number, number>();
  #cut: { readonly minute: number; readonly remaining: number } | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** First pass: notes an item. */
  note(time: Date, bytes: number): void {
    const minute = minuteOf(time);
    this.#bytesByMinute.set(minute, (this.#bytesByMinute.get(minute) ?? 0) + bytes);
  }

  /** Ends the first pass. */
  decide(): void {
    let remaining = this.#maxBytes;
    for (const [minute, bytes] of [...this.#bytesByMinute].toSorted(([left], [right]) => right - left)) {
      if (bytes > remaining) {
        this.#cut = { minute, remaining };
        return;
      }
      remaining -= bytes;
    }
  }

  /** Second pass: returns what happens to an item. The caller collects the undecided ones for `choose`. */
  verdict(time: Date): Verdict {
    const minute = minuteOf(time);
    if (!this.#cut || minute > this.#cut.minute) return 'keep';
    return minute < this.#cut.minute ? 'remove' : 'undecided';
  }

  /** Returns which of the undecided items to remove. They must be sorted the newest first. */
  choose<Item extends { readonly size: number }>(newestFirst: readonly Item[]): readonly Item[] {
    let remaining = this.#cut?.remaining ?? 0;
    const first = newestFirst.findIndex(({ size }) => {
      remaining -= size;
      return remaining < 0;
    });
    return first === -1 ? [] : newestFirst.slice(first);
  }
}

const minuteOf = (time: Date) => Math.floor(time.getTime() / MS_PER_MINUTE);
