import { realpath } from 'node:fs/promises';
import type { Calls } from './calls.ts';
import type { Soon } from './pace.ts';

/** Whether the system has paths to what is open: `/proc/self/fd`. */
export const HAS_PROC = process.platform === 'linux';

/** A path to what is open, which does not depend on names where the system has such paths: as openat(2). */
export function pathOfOpen(opened: number, absolute: string): string {
  return HAS_PROC ? `/proc/self/fd/${opened}` : absolute;
}

/** Where what is open is, as the system has it: without links. */
export const pathOf = (calls: Calls, opened: number): Soon<string> => calls.readLink(`/proc/self/fd/${opened}`);

/**
 * Whether what was opened is at `absolute`, without a link on the way. A file that was replaced or removed
 * since is still the one that was asked for: Linux then adds " (deleted)" to its name.
 */
export async function isAt(calls: Calls, opened: number, absolute: string): Promise<boolean> {
  if (HAS_PROC) {
    const actual = await pathOf(calls, opened);
    return actual === absolute || actual === `${absolute} (deleted)`;
  }
  const [stats, named, actual] = await Promise.all([
    calls.statOpen(opened),
    calls.lookUp(absolute),
    realpath(absolute),
  ]);
  return actual === absolute && stats.dev === named?.dev && stats.ino === named.ino;
}
