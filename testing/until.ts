import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds between two looks. */
const INTERVAL = 5;

/** Seconds that a condition may take on a machine that is busy with other things. */
const PATIENCE = 20;

/**
 * Looks again and again until `condition` gives something, which it returns: anything but undefined and false. Fails
 * after so many seconds, saying `what` was waited for; a condition that throws fails at once.
 */
export async function until<Found>(
  what: string,
  condition: () => Found | Promise<Found>,
  patience = PATIENCE,
): Promise<Exclude<Found, undefined | false>> {
  const deadline = performance.now() + patience * 1000;
  for (;;) {
    const found = await condition();
    if (found !== undefined && found !== false) return found as Exclude<Found, undefined | false>;
    assert.ok(performance.now() < deadline, `Waited ${patience} seconds in vain until ${what}.`);
    await delay(INTERVAL);
  }
}
