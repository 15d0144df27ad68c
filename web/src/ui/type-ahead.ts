/** Milliseconds without a letter after which the next letter begins another word. */
const PAUSE_MS = 800;

/** Finds items of a list by the beginning of their labels, while the user types it letter by letter. */
export class TypeAhead {
  #typed = '';
  #lastTime = Number.NEGATIVE_INFINITY;

  /** Whether the user typed a letter within the pause, so a space continues the word. */
  get isTyping(): boolean {
    return performance.now() - this.#lastTime < PAUSE_MS;
  }

  /**
   * Returns the index of the item whose label begins with the typed letters; -1 if there is none. Searches from `current`
   * (-1 for none) to the end, and then from the start. A repeated letter moves from item to item.
   */
  find(letter: string, current: number, count: number, labelOf: (index: number) => string | undefined): number {
    this.#typed = this.isTyping ? this.#typed + letter : letter;
    this.#lastTime = performance.now();
    const isRepeated = this.#typed === letter.repeat(this.#typed.length);
    const prefix = (isRepeated ? letter : this.#typed).toLocaleLowerCase();
    const first = Math.max(0, isRepeated ? current + 1 : current);
    for (let offset = 0; offset < count; offset++) {
      const index = (first + offset) % count;
      if (labelOf(index)?.toLocaleLowerCase().startsWith(prefix)) return index;
    }
    return -1;
  }

  /** Makes the next letter the first one of another word. */
  reset(): void {
    this.#lastTime = Number.NEGATIVE_INFINITY;
  }
}
