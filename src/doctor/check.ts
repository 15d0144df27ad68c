import { setTimeout as delay } from 'node:timers/promises';
import { untilAborted } from '../concurrency/single-flight.ts';

/** Result of a check. */
export interface Finding {
  /** `failed`: something does not work. `warning`: it works, but its configuration should change. */
  readonly status: 'ok' | 'warning' | 'failed' | 'not tried';
  /** What was tried and its result, or why the check did not run. */
  readonly found: string;
  /** What to do: the setting, the permission, or the line of another program's configuration. */
  readonly advice?: string;
}

/** A check. Its name identifies it in reports and in docs/troubleshooting.md. */
export interface Check<Subject> {
  readonly name: string;
  /** The check that must succeed first; otherwise this one is not tried. */
  readonly needs?: string;
  /** Returns whether the check applies to the subject. Checks that don't apply are omitted from the report. */
  readonly concerns?: (subject: Subject) => boolean;
  /** Whether the check writes to the store. */
  readonly writes?: true;
  /** Timeout in milliseconds. Default: 30,000. */
  readonly timeout?: number;
  /** Runs the check. An error counts as `failed`, with the advice of `explain`. */
  readonly run: (subject: Subject, signal: AbortSignal) => Promise<Finding>;
  /** Returns advice for an error of `run`. */
  readonly explain: (error: unknown, subject: Subject) => string;
}

export const ok = (found: string): Finding => ({ status: 'ok', found });
export const warning = (found: string, advice: string): Finding => ({ status: 'warning', found, advice });
export const failed = (found: string, advice: string): Finding => ({ status: 'failed', found, advice });
export const notTried = (found: string): Finding => ({ status: 'not tried', found });

/** Runs checks in order. */
export interface Runner {
  /** Runs the checks that apply to the subject. None starts after `signal` is aborted. */
  run<Subject>(checks: readonly Check<Subject>[], subject: Subject): Promise<void>;
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

export function createRunner({ tell, readOnly, signal }: RunnerOptions): Runner {
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
