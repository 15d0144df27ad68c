import type { Config } from '../config/config.ts';

/** Signals that ask for a stop: from a supervisor, and from the keyboard. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The exit code of a process that could not start, as EX_CONFIG of sysexits.h. */
export const START_FAILED = 78;

/** Whether SIGHUP has a meaning: a terminal that is closed sends it too, and ends the service where it has none. */
export function writesFiles({ AUDIT_LOG }: Config): boolean {
  return AUDIT_LOG !== 'stdout' && AUDIT_LOG !== 'off';
}
