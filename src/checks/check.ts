import { StoreError, type StoreErrorCode } from '../model/error.ts';

/** Result of a check. */
export interface Finding {
  /** `failed`: something does not work. `warning`: it works, but its configuration should change. */
  readonly status: 'ok' | 'warning' | 'failed' | 'not tried';
  /** What was tried and its result, or why the check did not run. */
  readonly found: string;
  /** What to do: the setting, the permission, or the line of another program's configuration. */
  readonly advice?: string;
}

/** A check of `holdall doctor`. Its name identifies it in reports and in docs/reference/doctor.md. */
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
  /** Runs the checks that apply to the subject. None starts after the examination is aborted. */
  run<Subject>(checks: readonly Check<Subject>[], subject: Subject): Promise<void>;
}

/** Advice for the operator, by error code. */
export type AdviceTable = Readonly<Partial<Record<StoreErrorCode, string>>>;

/** Returns the advice for an error or its nearest cause that has advice; undefined if the table has none. */
export function findAdvice(error: unknown, table: AdviceTable): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    const advice = current instanceof StoreError ? table[current.code] : undefined;
    if (advice !== undefined) return advice;
  }
  return undefined;
}
