/** One question that figures answer. */
export interface Benchmark {
  readonly name: string;
  readonly question: string;
  /** Its options, one a line, as `npm run bench` prints them. */
  readonly options: readonly string[];
  /** Measures, prints, and writes its results. Throws `UsageError` for options it does not take. */
  run(args: readonly string[], signal: AbortSignal): Promise<void>;
}

/** The message of an error and of those that caused it. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n  ${describeFailure(error.cause)}`;
}
