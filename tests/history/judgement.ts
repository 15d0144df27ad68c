import { check } from './check.ts';
import type { History } from './history.ts';
import { reportOf } from './report.ts';

/** Whether a history violates the guarantees of its store, and its description. */
export interface Judgement {
  readonly isViolated: boolean;
  readonly text: string;
}

export function judgementOf(history: History): Judgement {
  const verdict = check(history);
  if (verdict.is === 'violation') return { isViolated: true, text: reportOf(history, verdict) };
  const { operations, most, skipped } = verdict;
  const exceptions = skipped > 0 ? `, except ${skipped} rounds with too many possible worlds` : '';
  return {
    isViolated: false,
    text: `${operations} operations explained, with at most ${most} possible worlds${exceptions}`,
  };
}
