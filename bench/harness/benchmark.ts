/** A benchmark of `npm run bench`. */
export interface Benchmark {
  readonly name: string;
  readonly question: string;
  /** Its options, one per line, as `npm run bench` prints them. */
  readonly options: readonly string[];
  /** Measures, prints, and writes its results. Throws `UsageError` for unknown options. */
  run(args: readonly string[], signal: AbortSignal): Promise<void>;
}

/** Returns the messages of an error and of its causes. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n  ${describeFailure(error.cause)}`;
}
