/** An access file that can't be used: what is wrong with it, a line for each mistake, without the secrets in it. */
export class AccessFileError extends Error {
  override readonly name = 'AccessFileError';
  readonly problems: readonly string[];

  constructor(message: string, problems: readonly string[]) {
    super(message);
    this.problems = problems;
  }
}

/** For a file that was read, and is wrong. */
export function mistakesIn(file: string, problems: readonly string[]): AccessFileError {
  const count = problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`;
  return new AccessFileError(
    `${file} has ${count}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    problems,
  );
}

/** For a file that could not be read at all. */
export function unreadable(file: string, reason: string): AccessFileError {
  return new AccessFileError(`${file} can't be read: ${reason}.`, [`It can't be read: ${reason}.`]);
}
