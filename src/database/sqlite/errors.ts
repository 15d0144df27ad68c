import { systemErrorCode } from '../../model/error.ts';
import { DatabaseFault, type FaultKind } from '../engine.ts';

/* The result codes of SQLite: https://sqlite.org/rescode.html */

const SQLITE_BUSY = 5;

/** Returns whether another process holds a lock that a statement needs. */
export function isBusy(error: unknown): boolean {
  return ((extendedCodeOf(error) ?? 0) & 0xff) === SQLITE_BUSY;
}

const FULL = ['full', "can't grow, because the disk is full. Free space on it"] as const;

/** What is wrong, by primary result code, and what to do about it. Other codes are mistakes in a query. */
const FAULTS: Readonly<Record<number, readonly [FaultKind, problem: string]>> = {
  [SQLITE_BUSY]: ['busy', 'is locked by another program. Close that program'],
  6: ['busy', 'is locked. Try again'],
  8: ['read-only', 'is read-only. Give the user of the service write access'],
  10: ['unreachable', "can't be read or written. Check the disk"],
  11: ['corrupt', 'is damaged. Restore a backup, or move the file away: Holdall then creates a new database'],
  13: FULL,
  14: ['unreachable', "can't be opened. Give the user of the service write access to its folder"],
  15: ['busy', 'is changed by another program. Close that program'],
  22: ['unreachable', 'uses features that this system lacks. Move it to a local disk'],
  23: ['misconfigured', "can't be opened, because the system denies access"],
  26: ['corrupt', 'is not a SQLite database. Restore a backup, or move the file away'],
};

/** A file for the memory that processes share could not grow: the disk is full, although SQLite reports a failed disk. */
const SQLITE_IOERR_SHMSIZE = 4874;

/** Returns the fault that an error of SQLite stands for; undefined for any other error. */
export function sqliteFaultOf(error: unknown, file: string): DatabaseFault | undefined {
  if (error instanceof DatabaseFault) return error;
  const extended = extendedCodeOf(error) ?? 0;
  const [kind, problem] = extended === SQLITE_IOERR_SHMSIZE ? FULL : (FAULTS[extended & 0xff] ?? []);
  if (kind === undefined) return undefined;
  // A full disk fails only what needs space.
  return new DatabaseFault(kind, `The database ${file} ${problem}.`, { isOutage: kind !== 'full', cause: error });
}

/** Returns the extended result code of an error, whose last byte is the primary one. */
function extendedCodeOf(error: unknown): number | undefined {
  if (systemErrorCode(error) !== 'ERR_SQLITE_ERROR') return undefined;
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined;
}
