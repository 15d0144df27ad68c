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
