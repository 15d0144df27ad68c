import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Milliseconds before the second check, and the maximum between checks. Frequent checks slow down the process under
 * test.
 */
const FIRST_INTERVAL_MS = 5;
const MAX_INTERVAL_MS = 60;

/**
 * Seconds after which what has not happened never will, on the busiest machine. Only a hang reaches it, so every wait of a
 * test has this limit.
 */
export const HANG_SECONDS = 180;

/**
 * Waits until `condition` returns something other than undefined and false, and returns that. Rejects if `condition`
 * throws, or with `what` after the timeout.
 */
export async function until<Found>(
  what: string | (() => string),
  condition: () => Found | Promise<Found>,
  timeoutSeconds = HANG_SECONDS,
): Promise<Exclude<Found, undefined | false>> {
  const deadline = performance.now() + timeoutSeconds * 1000;
  for (let interval = FIRST_INTERVAL_MS; ; interval = Math.min(interval * 1.5, MAX_INTERVAL_MS)) {
    const found = await condition();
    if (found !== undefined && found !== false) return found as Exclude<Found, undefined | false>;
    if (performance.now() >= deadline) {
      const awaited = typeof what === 'string' ? what : what();
      assert.fail(`Timeout after ${timeoutSeconds} seconds: waited until ${awaited}.`);
    }
    await delay(interval);
  }
}
