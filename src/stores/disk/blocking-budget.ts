import { readFileSync } from 'node:fs';

/** A value or a promise of it. A plain value saves the cost of a promise. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Decides whether a system call runs synchronously, which blocks the process, or in the thread pool. */
export interface BlockingBudget {
  /**
   * Runs `sync`, a synchronous call, if synchronous calls were fast enough recently. Otherwise runs `threadpool`, which
   * uses the thread pool.
   */
  run<Result>(sync: () => Result, threadpool: () => Promise<Result>): MaybePromise<Result>;
  /** Same as `run`, for each item. Switches to `threadpool` for the remaining items if the calls become slow. */
  runAll<Item, Result>(
    items: readonly Item[],
    sync: (item: Item) => Result,
    threadpool: (item: Item) => Promise<Result>,
  ): MaybePromise<Result[]>;
}

/** Milliseconds that each synchronous call may take without adding to the debt. */
const ALLOWANCE_MS = 0.5;

/**
 * Milliseconds of debt that pause synchronous calls. Debt is the time that calls took beyond `ALLOWANCE_MS`; faster
 * calls reduce it.
 */
const MAX_DEBT_MS = 50;

/** Length of a pause, as a multiple of the debt. Slow calls then block the process for 1/500 of its time. */
const PAUSE_FACTOR = 500;

/**
 * Maximum pause in milliseconds, reached with 1.2 s of debt. A process that was stopped (SIGSTOP) during a call
 * recovers from it.
 */
const MAX_PAUSE_MS = 10 * 60_000;

/** Milliseconds from which on a call might have waited for a CPU and not for the disk. */
const MIN_CPU_WAIT_MS = 2;

/** Maximum age, in milliseconds, of the reading of `Clock.waited` that later readings are compared with. */
const MAX_READING_AGE_MS = 100;

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
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let waitedBefore = { at: Number.NEGATIVE_INFINITY, milliseconds: 0 };

  /** Returns whether a call that starts at `moment` may block the process. */
  const mayBlock = (moment: number): boolean => {
    if (moment < pausedUntil) return false;
    // Reading `waited` takes 10 µs, as much as a call. So this happens at most ten times per second.
    if (moment - waitedBefore.at > MAX_READING_AGE_MS) waitedBefore = { at: moment, milliseconds: clock.waited() };
    return true;
  };

  const note = (milliseconds: number, ended: number) => {
    const lost = milliseconds < MIN_CPU_WAIT_MS ? 0 : clock.waited() - waitedBefore.milliseconds;
    debt = Math.max(0, debt + Math.max(0, milliseconds - lost) - ALLOWANCE_MS);
    if (debt < MAX_DEBT_MS) return;
    pausedUntil = ended + Math.min(debt * PAUSE_FACTOR, MAX_PAUSE_MS);
    debt = 0;
  };

  return {
    run(sync, threadpool) {
      const started = now();
      if (!mayBlock(started)) return threadpool();
      try {
        return sync();
      } finally {
        const ended = now();
        note(ended - started, ended);
      }
    },

    runAll(items, sync, threadpool) {
      const results: ReturnType<typeof sync>[] = [];
      let started = now();
      for (const item of items) {
        if (!mayBlock(started)) break;
        results.push(sync(item));
        const ended = now();
        note(ended - started, ended);
        started = ended;
      }
      if (results.length === items.length) return results;
      return Promise.all(items.slice(results.length).map(threadpool)).then((rest) => [...results, ...rest]);
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

/** Maximum milliseconds of an operation whose data counts as likely cached afterwards. */
const MAX_CACHED_MS = 50;

/** Milliseconds for which a path is remembered after its last use. It is forgotten within twice that time. */
const TIME_TO_LIVE_MS = 15_000;

/** Maximum paths in each of the two sets: a few megabytes. */
const MAX_PATHS = 10_000;

/** The paths whose data was read recently and fast, and is therefore likely in the page cache. */
export interface LikelyCached {
  /** Returns whether the data of a path is likely cached. */
  has(path: string): boolean;
  /** Remembers a path, unless its operation was slow: a disk that is always slow must not block the process. */
  note(path: string, milliseconds: number): void;
}

/** Creates an empty set of paths. `now` returns a monotonic time in milliseconds. */
export function createLikelyCached(now: () => number = () => performance.now()): LikelyCached {
  let recent = new Set<string>();
  let former = new Set<string>();
  let since = now();

  const age = () => {
    const isOld = now() - since > TIME_TO_LIVE_MS;
    if (!isOld && recent.size < MAX_PATHS) return;
    // After a long time without calls, both sets are expired.
    former = now() - since > 2 * TIME_TO_LIVE_MS ? new Set() : recent;
    recent = new Set();
    since = now();
  };

  return {
    has(path) {
      age();
      if (recent.has(path)) return true;
      if (!former.has(path)) return false;
      recent.add(path);
      return true;
    },
    note(path, milliseconds) {
      if (milliseconds < MAX_CACHED_MS) recent.add(path);
    },
  };
}
