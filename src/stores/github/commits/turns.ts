import { setTimeout as delay } from 'node:timers/promises';

/**
 * When a process may begin its next commit, among others that commit to the same branch and that it can't ask. The
 * branch goes to whoever moves it first, and whoever is late begins anew. Without pauses it would always be the same
 * one: who has won is at his next commit already when the others hear that they have lost.
 */
export interface Turns {
  /** Settles when the next commit may be begun. */
  next(): Promise<void>;
  /** The commit that was begun at `began` of `performance.now()`, on `base`, is on the branch, which is at `head` now. */
  won(base: string, head: string, began: number): void;
  /** The commit that was begun at `began` came to nothing: others moved the branch before. */
  lost(began: number): void;
  /** From now on nobody waits any more. */
  end(): void;
}

/** How much of the guess how many others there are is left behind each commit, and below what there are none. */
const REMEMBERED = 7 / 8;
const FORGOTTEN = 1 / 2;

/** The most others that there are taken to be: who loses all the time may have lost to one alone, who makes no pauses. */
const MOST_OTHERS = 4;

/** Milliseconds for which a push of others counts as one of somebody who is at work now. */
const RECENT = 60_000;

/** How many commits are made without a pause while nobody else is seen: one who always loses is not seen. */
const IN_A_ROW = 6;

/** The longest pause, in milliseconds: a commit whose requests were repeated for long says nothing about the next. */
const LONGEST = 10_000;

export function createTurns(): Turns {
  const ended = new AbortController();
  /** The head that our last commit left, and when. */
  let last: { head: string; time: number } | undefined;
  /** Commits since the branch was left alone for as long as one takes. */
  let inARow = 0;
  let losses = 0;
  /** About how many others commit to the branch. */
  let others = 0;
  let free = 0;

  const pause = (milliseconds: number) => {
    free = performance.now() + Math.min(milliseconds, LONGEST);
    inARow = 0;
  };

  const guessOthers = (base: string, began: number) => {
    const wasMoved = last !== undefined && last.head !== base && began - last.time < RECENT;
    const before = others * REMEMBERED;
    return Math.max(Math.min(losses, MOST_OTHERS), wasMoved ? 1 : 0, before < FORGOTTEN ? 0 : before);
  };

  return {
    async next() {
      const { signal } = ended;
      // A timer may be early by a fraction of a millisecond.
      for (let left = free - performance.now(); left > 0 && !signal.aborted; left = free - performance.now()) {
        await delay(left, undefined, { signal }).catch(() => {});
      }
    },

    won(base, head, began) {
      const time = performance.now();
      const took = time - began;
      others = guessOthers(base, began);
      inARow = last === undefined || began - last.time > took ? 1 : inARow + 1;
      losses = 0;
      last = { head, time };
      // Another's commit takes a little longer, as he has to read first what ours changed; and several who pause must
      // not come back at the same moment.
      if (others > 0 || inARow >= IN_A_ROW) pause(took * Math.max(1, others) * (1 + Math.random()));
    },

    lost(began) {
      losses++;
      // At once, while the winner pauses; then at different times, for those who lose to each other.
      if (losses > 1) pause((performance.now() - began) * Math.random());
    },

    end: () => ended.abort(),
  };
}
