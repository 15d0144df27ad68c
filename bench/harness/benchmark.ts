/** One question that figures answer. */
export interface Benchmark {
  readonly name: string;
  readonly question: string;
  /** Its options, one a line, as `npm run bench` prints them. */
  readonly options: readonly string[];
  /** Measures, prints, and writes its results. Throws `UsageError` for options it does not take. */
  run(args: readonly string[], signal: AbortSignal): Promise<void>;
}

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

/** The names of a comma-separated option, each of which must be one of `known`; all of them where it is not given. */
export function readNames(option: string, text: string | undefined, known: readonly string[]): readonly string[] {
  if (text === undefined) return known;
  const names = text.split(',');
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return names;
  throw new UsageError(`--${option}: there is no ${unknown.join(', ')}; there is ${known.join(', ')}`);
}

/** The message of an error and of those that caused it. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n  ${describeFailure(error.cause)}`;
}
