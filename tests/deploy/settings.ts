import assert from 'node:assert/strict';
import { SETTINGS } from '../../src/config/settings.ts';

/** Seconds that the first process gives the others beyond `SHUTDOWN_TIMEOUT` before it kills them (process/cluster.ts). */
const KILL_DELAY = 5;

/** The maximum seconds that a service with the default settings takes to stop. */
export const LONGEST_STOP = Number(SETTINGS.SHUTDOWN_TIMEOUT.defaultText) + KILL_DELAY;

/** Asserts that each name is a setting, or one of `others`. */
export function assertSettings(names: Iterable<string>, others: readonly string[] = []): void {
  for (const name of names) assert.ok(name in SETTINGS || others.includes(name), `${name} is not a setting.`);
}
