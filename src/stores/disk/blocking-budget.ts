import { readFileSync } from 'node:fs';

/** What is there at once, or is promised. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Whether calls of the system may hold up the process. */
export interface BlockingBudget {
  /** Makes a call by `atOnce`, which holds up the process, as long as such calls were quick, else by `aside`. */
  run<Result>(atOnce: () => Result, aside: () => Promise<Result>): MaybePromise<Result>;
  /** As `run`, for each item; in the midst of them it goes over from the one way to the other. */
  runAll<Item, Result>(
    items: readonly Item[],
    atOnce: (item: Item) => Result,
    aside: (item: Item) => Promise<Result>,
  ): MaybePromise<Result[]>;
}

/** Milliseconds that a call may hold up the process without a second thought. */
const ALLOWED = 0.5;

/** Milliseconds above that, not made up for by quicker calls, after which no call holds up the process for a while. */
const DEBT = 50;

/** How many times as long as the debt that is: a five-hundredth of the time is lost to slow calls. */
const REST = 500;

/** Milliseconds of the longest rest, that after 1.2 s: a process stopped by hand in the midst of a call gets over it. */
const LONGEST_REST = 10 * 60_000;

/** Milliseconds from which on a call may have waited for a processor instead of the disk. */
const NOTABLE = 2;

/** Milliseconds for which the time that was waited for a processor is known well enough. */
const KNOWN = 100;

export interface Clock {
  /** Milliseconds since some moment. */
  now(): number;
  /** Milliseconds in all that the process could have run and waited for a processor; 0 where that is not known. */
  waited(): number;
}

/**
 * A pace that times the calls which hold up the process. Once they took 50 ms more than is allowed, one by itself or many
 * together, none is made for 500 times as long: so that slow calls hold up the process for a five-hundredth of its time,
 * which not even one request in a hundred notices. Only after calls of more than a second it may be more, as no rest is
 * longer than ten minutes. What a busy machine takes from the process is no fault of the disk, and is not counted.
 */
export function createBlockingBudget(clock: Clock = SYSTEM_CLOCK): BlockingBudget {
  const now = () => clock.now();
  let debt = 0;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let waitedBefore = { at: Number.NEGATIVE_INFINITY, milliseconds: 0 };

  /** Whether a call may be made at once that begins now. */
  const mayHoldUp = (moment: number): boolean => {
    if (moment < restsUntil) return false;
    // 10 µs, ten times in a second: to ask before each call would cost as much as the call.
    if (moment - waitedBefore.at > KNOWN) waitedBefore = { at: moment, milliseconds: clock.waited() };
    return true;
  };

  const note = (milliseconds: number, ended: number) => {
    const lost = milliseconds < NOTABLE ? 0 : clock.waited() - waitedBefore.milliseconds;
    debt = Math.max(0, debt + Math.max(0, milliseconds - lost) - ALLOWED);
    if (debt < DEBT) return;
    restsUntil = ended + Math.min(debt * REST, LONGEST_REST);
    debt = 0;
  };

  return {
    run(atOnce, aside) {
      const started = now();
      if (!mayHoldUp(started)) return aside();
      try {
        return atOnce();
      } finally {
        const ended = now();
        note(ended - started, ended);
      }
    },

    runAll(items, atOnce, aside) {
      const results: ReturnType<typeof atOnce>[] = [];
      let started = now();
      for (const item of items) {
        if (!mayHoldUp(started)) break;
        results.push(atOnce(item));
        const ended = now();
        note(ended - started, ended);
        started = ended;
      }
      if (results.length === items.length) return results;
      return Promise.all(items.slice(results.length).map(aside)).then((rest) => [...results, ...rest]);
    },
  };
}

const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  waited() {
    try {
      // Of the thread that runs JavaScript: nanoseconds that it ran, and nanoseconds that it waited to run.
      return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
    } catch {
      return 0;
    }
  },
};
