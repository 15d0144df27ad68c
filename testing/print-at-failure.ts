import { afterEach } from 'node:test';
import { atEnd, type Owner } from './at-end.ts';

/** The number of tests of this process that have failed. */
let failures = 0;

// For all tests of the process, because the owner of a resource does not learn that one of its subtests failed.
afterEach((context) => {
  if ('passed' in context && !context.passed) failures++;
});

/**
 * Prints a text to stderr when its owner ends, if a test of this process has failed since this call: for example the last
 * lines of the log of a service.
 */
export function printAtFailure(owner: Owner, title: string, text: () => string): void {
  atEnd(owner, printerAtFailure(title, text));
}

/** Returns a function that prints a text to stderr if a test of this process has failed since this call. */
export function printerAtFailure(title: string, text: () => string): () => void {
  const before = failures;
  return () => {
    if (failures > before) process.stderr.write(`${title}:\n${text()}\n`);
  };
}

/** The number of lines that `lastLines` returns. */
const SHOWN_LINES = 40;

/** Returns the last lines of a log as JSON. */
export function lastLines(log: readonly object[]): string {
  const omitted = Math.max(0, log.length - SHOWN_LINES);
  const lines = log.slice(omitted).map((line) => JSON.stringify(line));
  return [...(omitted > 0 ? [`(${omitted} earlier lines)`] : []), ...lines].join('\n');
}
