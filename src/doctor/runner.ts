import { setTimeout as delay } from 'node:timers/promises';
import { type Check, type Finding, failed, notTried, type Runner } from '../checks/check.ts';
import { untilAborted } from '../concurrency/single-flight.ts';

/** Runs checks and reports their findings. */
export interface ReportingRunner extends Runner {
  /** Reports a finding that does not come from a list of checks. */
  tell(name: string, finding: Finding): void;
  hasSucceeded(name: string): boolean;
  /** Resolves when all timed-out checks have ended, or after `milliseconds`. */
  settled(milliseconds: number): Promise<void>;
}

export interface RunnerOptions {
  readonly tell: (name: string, finding: Finding) => void;
  /** Returns whether to skip checks that write. */
  readonly readOnly: () => boolean;
  readonly signal: AbortSignal;
}

/** Default timeout of a check, in milliseconds. */
const TIMEOUT = 30_000;

export function createRunner({ tell, readOnly, signal }: RunnerOptions): ReportingRunner {
  const succeeded = new Set<string>();
  const pending = new Set<Promise<unknown>>();

  const report = (name: string, finding: Finding) => {
    if (finding.status === 'ok' || finding.status === 'warning') succeeded.add(name);
    tell(name, finding);
  };

  const attempt = async <Subject>(check: Check<Subject>, subject: Subject): Promise<Finding> => {
    if (check.needs !== undefined && !succeeded.has(check.needs)) return notTried(`It needs ${check.needs}.`);
    if (check.writes && readOnly()) return notTried('READ_ONLY=true: nothing is written.');
    const { timeout = TIMEOUT } = check;
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), timeout);
    const ending = AbortSignal.any([signal, deadline.signal]);
    const work = check.run(subject, ending);
    const tracked: Promise<unknown> = work.then(
      () => pending.delete(tracked),
      () => pending.delete(tracked),
    );
    pending.add(tracked);
    try {
      // Some operations ignore the signal, such as system calls on a disk that does not respond.
      return await untilAborted(work, ending);
    } catch (error) {
      if (signal.aborted) return notTried('It was interrupted.');
      const found = deadline.signal.aborted
        ? `There was no end of it within ${timeout / 1000} seconds.`
        : messageOf(error);
      return failed(found, check.explain(error, subject));
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    tell: report,
    hasSucceeded: (name) => succeeded.has(name),

    async run(checks, subject) {
      for (const check of checks) {
        if (signal.aborted) return;
        if (check.concerns?.(subject) ?? true) report(check.name, await attempt(check, subject));
      }
    },

    async settled(milliseconds) {
      const waited = new AbortController();
      const late = delay(milliseconds, undefined, { signal: waited.signal }).catch(() => {});
      await Promise.race([Promise.all(pending), late]);
      waited.abort();
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
