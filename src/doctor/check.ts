import { setTimeout as delay } from 'node:timers/promises';
import { untilAborted } from '../concurrency/single-flight.ts';

/** What a check found. */
export interface Finding {
  /** `failed`: something does not work; `warning`: it works, and is not as it should be. */
  readonly status: 'ok' | 'warning' | 'failed' | 'not tried';
  /** What was tried, and what came of it, or why it was not tried. */
  readonly found: string;
  /** What to do about it: which setting, which permission, which line of another program's configuration. */
  readonly advice?: string;
}

/** One thing that is looked at. What it finds goes out under its name, which docs/troubleshooting.md speaks of. */
export interface Check<Subject> {
  readonly name: string;
  /** The check without whose success this one says nothing. */
  readonly needs?: string;
  /** Whether it is about settings like these; it is left out where it is not. */
  readonly concerns?: (subject: Subject) => boolean;
  /** Whether it writes to the store. */
  readonly writes?: true;
  /** Milliseconds after which it is given up. */
  readonly timeout?: number;
  /** What it throws is a failure, as `explain` tells it. */
  readonly run: (subject: Subject, signal: AbortSignal) => Promise<Finding>;
  /** What to do where `run` throws. */
  readonly explain: (error: unknown, subject: Subject) => string;
}

export const ok = (found: string): Finding => ({ status: 'ok', found });
export const warning = (found: string, advice: string): Finding => ({ status: 'warning', found, advice });
export const failed = (found: string, advice: string): Finding => ({ status: 'failed', found, advice });
export const notTried = (found: string): Finding => ({ status: 'not tried', found });

/** Runs checks one after the other. */
export interface Runner {
  /** Runs those that concern the subject. Once `signal` is aborted, it runs none. */
  run<Subject>(checks: readonly Check<Subject>[], subject: Subject): Promise<void>;
  /** Tells of a check that is none of a list. */
  tell(name: string, finding: Finding): void;
  hasSucceeded(name: string): boolean;
  /** Settles when what was given up has ended as well, or milliseconds are over. */
  settled(milliseconds: number): Promise<void>;
}

export interface RunnerOptions {
  readonly tell: (name: string, finding: Finding) => void;
  /** Whether checks that write are not tried. */
  readonly readOnly: () => boolean;
  readonly signal: AbortSignal;
}

/** Milliseconds for a check that says nothing else. */
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
      // Not everything that is waited for minds a signal: a disk that does not answer, for one.
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
