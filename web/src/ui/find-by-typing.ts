import type { Entry } from '../platform/service/service.ts';

/** Milliseconds after which letters begin a new search. */
const PAUSE = 800;

/** Finds entries by the beginning of their names, typed letter by letter. */
export interface FindByTyping {
  /** Whether letters were typed just now, so that a space is one more of them. */
  isUnderWay(): boolean;
  /**
   * The index of the entry whose name begins with what was typed, from `from` on and around; -1 where there is none.
   * The same letter again and again goes through all that begin with it.
   */
  find(letter: string, entries: readonly Entry[], from: number): number;
  /** The next letter is the first of another name. */
  end(): void;
}

export function createFindByTyping(): FindByTyping {
  let typed = '';
  let last = Number.NEGATIVE_INFINITY;
  const isUnderWay = () => performance.now() - last < PAUSE;

  return {
    isUnderWay,
    end() {
      last = Number.NEGATIVE_INFINITY;
    },
    find(letter, entries, from) {
      typed = isUnderWay() ? typed + letter : letter;
      last = performance.now();
      const isRepeated = typed.length > 1 && typed === letter.repeat(typed.length);
      const wanted = (isRepeated ? letter : typed).toLocaleLowerCase();
      const begin = Math.max(0, typed.length === 1 || isRepeated ? from + 1 : from);
      for (let offset = 0; offset < entries.length; offset++) {
        const index = (begin + offset) % entries.length;
        if (entries[index]?.name.toLocaleLowerCase().startsWith(wanted)) return index;
      }
      return -1;
    },
  };
}
