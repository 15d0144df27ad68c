import { realpath } from 'node:fs/promises';
import type { NameComparison } from '../../domain/name-comparison.ts';
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
 * Returns whether the open file or folder is at `absolute`, without a symbolic link on the way. A file that was replaced or
 * removed since is still the one that was asked for: Linux then adds " (deleted)" to its name. Where names are folded, the
 * system may report the spelling of an earlier lookup.
 */
export async function isAt(calls: Calls, opened: number, absolute: string, names: NameComparison): Promise<boolean> {
  const isSame = (actual: string) => actual === absolute || names.certain(actual) === names.certain(absolute);
  if (HAS_PROC) {
    const actual = await pathOf(calls, opened);
    return isSame(actual) || isSame(actual.replace(/ \(deleted\)$/, ''));
  }
  const [stats, named, actual] = await Promise.all([
    calls.statOpen(opened),
    calls.lookUp(absolute),
    realpath(absolute),
  ]);
  return isSame(actual) && stats.dev === named?.dev && stats.ino === named.ino;
}
