import { join, resolve } from 'node:path';

/** The command line is invalid. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Returns the number in an option, which must be at least `least`. Throws `UsageError` for anything else. */
export function readNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= least) return value;
  throw new UsageError(`--${option} ${text}: not a number from ${least} up`);
}

/** Returns the positive integer in an option, such as a number of rounds, or of seconds for wrk. */
export function readCount(option: string, text: string): number {
  const count = readNumber(option, text, 1);
  if (Number.isInteger(count)) return count;
  throw new UsageError(`--${option} ${text}: not a whole number`);
}

/** Returns the names in a comma-separated option, each of which must be one of `known`. Default: all of them. */
export function readNames(option: string, text: string | undefined, known: readonly string[]): readonly string[] {
  if (text === undefined) return known;
  const names = text.split(',');
  if (names.includes('')) throw new UsageError(`--${option} ${text}: a name is missing`);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return names;
  throw new UsageError(`--${option}: there is no ${unknown.join(', ')}; there is ${known.join(', ')}`);
}

/** The measured service and its folder: the options of all benchmarks that start the service. */
export interface Subject {
  /** The folder for all written files. */
  readonly folder: string;
  /** The script of the service. */
  readonly service: string;
}

/** The options of a subject, for `parseArgs`. */
export const subjectOptions = {
  folder: { type: 'string', default: '/var/tmp' },
  service: { type: 'string', default: join(import.meta.dirname, '../bin/holdall.js') },
} as const;

/** The usage text of these options. */
export const subjectUsage = [
  '--folder PATH     where all that is needed is kept, for as long as it runs (/var/tmp)',
  '--service FILE    the service to measure (bin/holdall.js of this checkout)',
];

/** Returns the subject from the values of `parseArgs`. */
export function readSubject({ folder, service }: Subject): Subject {
  return { folder: resolve(folder), service: resolve(service) };
}
