import { systemErrorCode } from '../../model/error.ts';
import { DatabaseFault, type FaultKind } from '../engine.ts';

/* The result codes of SQLite: https://sqlite.org/rescode.html */

const SQLITE_BUSY = 5;

/** Returns whether another process holds a lock that a statement needs. */
export function isBusy(error: unknown): boolean {
  return resultCodeOf(error) === SQLITE_BUSY;
}

/** What is wrong, by primary result code, and what to do about it. Other codes are mistakes in a query. */
const FAULTS: Readonly<Record<number, readonly [FaultKind, problem: string]>> = {
  [SQLITE_BUSY]: ['busy', 'is locked by another program. Close that program'],
  6: ['busy', 'is locked. Try again'],
  8: ['read-only', 'is read-only. Give the user of the service write access'],
  10: ['unreachable', "can't be read or written. Check the disk"],
  11: ['corrupt', 'is damaged. Restore a backup, or move the file away: Holdall then creates a new database'],
  13: ['full', "can't grow, because the disk is full. Free space on it"],
  14: ['unreachable', "can't be opened. Give the user of the service write access to its folder"],
  15: ['busy', 'is changed by another program. Close that program'],
  22: ['unreachable', 'uses features that this system lacks. Move it to a local disk'],
  23: ['misconfigured', "can't be opened, because the system denies access"],
  26: ['corrupt', 'is not a SQLite database. Restore a backup, or move the file away'],
};

/** Returns the fault that an error of SQLite stands for; undefined for any other error. */
export function sqliteFaultOf(error: unknown, file: string): DatabaseFault | undefined {
  if (error instanceof DatabaseFault) return error;
  const [kind, problem] = FAULTS[resultCodeOf(error) ?? 0] ?? [];
  if (kind === undefined) return undefined;
  // A full disk fails only what needs space.
  return new DatabaseFault(kind, `The database ${file} ${problem}.`, { isOutage: kind !== 'full', cause: error });
}

/** Returns the primary result code of an error: the last byte of the extended one. */
function resultCodeOf(error: unknown): number | undefined {
  if (systemErrorCode(error) !== 'ERR_SQLITE_ERROR') return undefined;
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : undefined;
}
