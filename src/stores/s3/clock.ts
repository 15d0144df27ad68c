import type { IncomingHttpHeaders } from 'node:http';

/** By how much our time differs from the store's, which refuses what is signed by another. */
export interface Clock {
  /** Milliseconds that the store is ahead of us. */
  offset(): number;
  /** Whether our time was set since the store told its own, so that the offset is of no use until it tells again. */
  isSetAnew(): boolean;
  /** Told of the headers of each answer. */
  learn(headers: IncomingHttpHeaders): void;
}

/** Milliseconds by which two times differ that are not the same by any measure: stores bear 15 minutes. */
export const WRONG = 4 * 60_000;

export function createClock(): Clock {
  let offset = 0;
  let last: { readonly date: string; readonly now: number; readonly uptime: number } | undefined;
  return {
    offset: () => offset,
    isSetAnew: () => last !== undefined && Math.abs(Date.now() - last.now - (performance.now() - last.uptime)) >= WRONG,
    learn({ date, age }) {
      // An answer with an age is one of a cache, and of an earlier time.
      if (date === undefined || age !== undefined) return;
      const now = Date.now();
      // Most answers tell the same second again, which tells something new where our clock was set meanwhile.
      if (date === last?.date && Math.abs(now - last.now) < WRONG) return;
      last = { date, now, uptime: performance.now() };
      const told = Date.parse(date) - now;
      if (!Number.isNaN(told)) offset = told;
    },
  };
}
