import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds between two looks. */
const INTERVAL = 5;

/** Seconds that a condition may take on a machine that is busy with other things. */
const PATIENCE = 20;

/**
 * Looks again and again until `condition` gives something, which it returns: anything but undefined and false. Fails
 * after `PATIENCE`, saying `what` was waited for; a condition that throws fails at once.
 */
export async function until<Found>(
  what: string,
  condition: () => Found | Promise<Found>,
): Promise<Exclude<Found, undefined | false>> {
  const deadline = performance.now() + PATIENCE * 1000;
  for (;;) {
    const found = await condition();
    if (found !== undefined && found !== false) return found as Exclude<Found, undefined | false>;
    assert.ok(performance.now() < deadline, `Waited ${PATIENCE} seconds in vain until ${what}.`);
    await delay(INTERVAL);
  }
}
