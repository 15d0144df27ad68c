import { setTimeout as delay } from 'node:timers/promises';
import { type Check, type Finding, failed, notTried, type Runner } from '../checks/check.ts';
import { untilAborted } from '../concurrency/single-flight.ts';

export interface RunnerOptions {
  readonly report: (name: string, finding: Finding) => void;
  /** Returns whether to skip checks that write. */
  readonly isReadOnly: () => boolean;
  readonly signal: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** Runs checks and reports their findings. */
export class CheckRunner implements Runner {
  readonly #options: RunnerOptions;
  readonly #succeeded = new Set<string>();
  /** Checks that have not ended, also after their timeout. */
  readonly #pending = new Set<Promise<unknown>>();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  async run<Subject>(checks: readonly Check<Subject>[], subject: Subject): Promise<void> {
    for (const check of checks) {
      if (this.#options.signal.aborted) return;
      if (check.concerns?.(subject) ?? true) this.report(check.name, await this.#attempt(check, subject));
    }
  }

  /** Reports a finding, also one that does not come from a list of checks. */
  report(name: string, finding: Finding): void {
    if (finding.status === 'ok' || finding.status === 'warning') this.#succeeded.add(name);
    this.#options.report(name, finding);
  }

  /** Resolves when all timed-out checks have ended, or after `milliseconds`. */
  async settled(milliseconds: number): Promise<void> {
    const finished = new AbortController();
    const timeout = delay(milliseconds, undefined, { signal: finished.signal }).catch(() => {});
    await Promise.race([Promise.all(this.#pending), timeout]);
    finished.abort();
  }

  async #attempt<Subject>(check: Check<Subject>, subject: Subject): Promise<Finding> {
    if (check.needs !== undefined && !this.#succeeded.has(check.needs)) return notTried(`Requires ${check.needs}.`);
    if (check.writes && this.#options.isReadOnly()) return notTried('READ_ONLY=true: the doctor writes nothing.');
    const { timeout = DEFAULT_TIMEOUT_MS } = check;
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), timeout);
    const signal = AbortSignal.any([this.#options.signal, deadline.signal]);
    try {
      // Some operations ignore the signal, such as system calls on a disk that does not respond.
      return await untilAborted(this.#track(check.run(subject, signal)), signal);
    } catch (error) {
      if (this.#options.signal.aborted) return notTried('Interrupted.');
      const found = deadline.signal.aborted ? `Timed out after ${timeout / 1000} seconds.` : messageOf(error);
      return failed(found, check.explain(error, subject));
    } finally {
      clearTimeout(timer);
    }
  }

  #track(work: Promise<Finding>): Promise<Finding> {
    const tracked: Promise<unknown> = work.then(
      () => this.#pending.delete(tracked),
      () => this.#pending.delete(tracked),
    );
    this.#pending.add(tracked);
    return work;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
