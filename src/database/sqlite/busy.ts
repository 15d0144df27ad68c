import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { isBusy } from './errors.ts';

/** Milliseconds between two attempts to get a lock. */
const MIN_BUSY_DELAY_MS = 2;
const MAX_BUSY_DELAY_MS = 50;

/**
 * Runs statements, and runs them again while another process holds a lock that they need, for at most `timeoutMs`. Does not
 * block the process, unlike the busy timeout of SQLite.
 */
export async function retryWhenBusy<Result>(
  database: DatabaseSync,
  timeoutMs: number,
  work: () => Result,
): Promise<Result> {
  const deadline = performance.now() + timeoutMs;
  for (let pause = MIN_BUSY_DELAY_MS; ; pause = Math.min(pause * 2, MAX_BUSY_DELAY_MS)) {
    try {
      return work();
    } catch (error) {
      // Inside a transaction, which holds the lock for writing, waiting would not help.
      if (!isBusy(error) || database.isTransaction || performance.now() >= deadline) throw error;
    }
    await delay(pause);
  }
}
