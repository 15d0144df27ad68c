import { readFileSync } from 'node:fs';

/** A value or a promise of it. A plain value saves the cost of a promise. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Decides whether a system call runs synchronously, which blocks the process, or in the thread pool. */
export interface BlockingBudget {
  /**
   * Runs `atOnce`, a synchronous call, if synchronous calls were fast enough recently. Otherwise runs `aside`, which
   * uses the thread pool.
   */
  run<Result>(atOnce: () => Result, aside: () => Promise<Result>): MaybePromise<Result>;
  /** Same as `run`, for each item. Switches to `aside` for the remaining items if the calls become slow. */
  runAll<Item, Result>(
    items: readonly Item[],
    atOnce: (item: Item) => Result,
    aside: (item: Item) => Promise<Result>,
  ): MaybePromise<Result[]>;
}

/** Milliseconds that each synchronous call may take without adding to the debt. */
const ALLOWED = 0.5;

/**
 * Milliseconds of debt that pause synchronous calls. Debt is the time that calls took beyond `ALLOWED`; faster calls
 * reduce it.
 */
const DEBT = 50;

/** Length of a pause, as a multiple of the debt. Slow calls then block the process for 1/500 of its time. */
const REST = 500;

/**
 * Maximum pause in milliseconds, reached with 1.2 s of debt. A process that was stopped (SIGSTOP) during a call
 * recovers from it.
 */
const LONGEST_REST = 10 * 60_000;

/** Milliseconds from which on a call may have waited for a CPU and not for the disk. */
const NOTABLE = 2;

/** Maximum age, in milliseconds, of the reading of `Clock.waited` that later readings are compared with. */
const KNOWN = 100;

export interface Clock {
  /** Monotonic time in milliseconds. */
  now(): number;
  /** Total milliseconds that the main thread was runnable but waited for a CPU; 0 if unknown. */
  waited(): number;
}

/**
 * Creates a budget that times synchronous calls. When they exceed their allowance by 50 ms in total, it pauses
 * synchronous calls for 500 times the excess. Slow calls then block the process for 1/500 of its time, which affects
 * fewer than one request in a hundred. The share is higher only after calls of more than a second, because a pause
 * lasts at most ten minutes. Time spent waiting for a CPU on a busy machine does not count.
 */
export function createBlockingBudget(clock: Clock = SYSTEM_CLOCK): BlockingBudget {
  const now = () => clock.now();
  let debt = 0;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let waitedBefore = { at: Number.NEGATIVE_INFINITY, milliseconds: 0 };

  /** Returns whether a call that starts at `moment` may block the process. */
  const mayHoldUp = (moment: number): boolean => {
    if (moment < restsUntil) return false;
    // Reading `waited` takes 10 µs, as much as a call. So this happens at most ten times per second.
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
      // Fields of the main thread: nanoseconds on a CPU, then nanoseconds on the run queue (Linux, sched-stats).
      return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
    } catch {
      return 0;
    }
  },
};
