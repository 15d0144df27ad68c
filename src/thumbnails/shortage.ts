/** Codes of system errors that mean that the machine lacks memory, processes, open files or disk space. */
const SHORTAGES: ReadonlySet<unknown> = new Set(['EAGAIN', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM', 'ENOSPC']);

/** Returns whether the machine lacks something that the operation needed. */
export function isShortage(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && SHORTAGES.has(error.code);
}
