import { join, resolve } from 'node:path';

/** The command line asks for something that there is not. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The number of an option, at least `least`; throws `UsageError` for anything else. */
export function readNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= least) return value;
  throw new UsageError(`--${option} ${text}: not a number from ${least} up`);
}

/** The whole number of an option, 1 at least: so many rounds, or seconds as wrk takes them. */
export function readCount(option: string, text: string): number {
  const count = readNumber(option, text, 1);
  if (Number.isInteger(count)) return count;
  throw new UsageError(`--${option} ${text}: not a whole number`);
}

/** The names of a comma-separated option, each of which must be one of `known`; all of them where it is not given. */
export function readNames(option: string, text: string | undefined, known: readonly string[]): readonly string[] {
  if (text === undefined) return known;
  const names = text.split(',');
  if (names.includes('')) throw new UsageError(`--${option} ${text}: a name is missing`);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return names;
  throw new UsageError(`--${option}: there is no ${unknown.join(', ')}; there is ${known.join(', ')}`);
}

/** What is measured, and where: options of all that start the service. */
export interface Subject {
  /** Where all that is written goes. */
  readonly folder: string;
  /** The file that starts the service. */
  readonly service: string;
}

/** The options of a subject, as `parseArgs` takes them. */
export const subjectOptions = {
  folder: { type: 'string', default: '/var/tmp' },
  service: { type: 'string', default: join(import.meta.dirname, '../bin/holdall.js') },
} as const;

/** Those options, as they are printed. */
export const subjectUsage = [
  '--folder PATH     where all that is needed is kept, for as long as it runs (/var/tmp)',
  '--service FILE    the service to measure (bin/holdall.js of this checkout)',
];

/** The subject, of what `parseArgs` made of its options. */
export function readSubject({ folder, service }: Subject): Subject {
  return { folder: resolve(folder), service: resolve(service) };
}
