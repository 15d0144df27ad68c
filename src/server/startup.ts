import { AccessFileError } from '../access/access-file-syntax.ts';
import { type Config, SettingsError } from '../config/config.ts';
import { PageNotBuilt } from '../http/page/web-page.ts';
import { isStoreError } from '../model/error.ts';

/** Signals that ask for a stop: from a supervisor, and from the keyboard. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The exit code of a process that could not start, as EX_CONFIG of sysexits.h. */
export const START_FAILED = 78;

/** Whether SIGHUP has a meaning: a terminal that is closed sends it too, and ends the service where it has none. */
export function writesFiles({ AUDIT_LOG }: Config): boolean {
  return AUDIT_LOG !== 'stdout' && AUDIT_LOG !== 'off';
}

/**
 * Why the service can't start, in the one line (or list of mistakes) that a person needs; undefined for what is a
 * fault of ours, which wants its stack.
 */
export function explainStart(error: unknown): string | undefined {
  if (error instanceof SettingsError || error instanceof AccessFileError) return error.message;
  if (error instanceof PageNotBuilt || isStoreError(error)) return error.message;
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined;
  if (error.syscall === 'getaddrinfo') {
    const name = 'hostname' in error ? String(error.hostname) : '';
    return `HOST ${name} is a name that nobody knows: set it to an address of this machine.`;
  }
  if (error.syscall !== 'listen' && error.syscall !== 'bind') return undefined;
  const where = `${'address' in error ? String(error.address) : 'HOST'}:${'port' in error ? String(error.port) : 'PORT'}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return `${where} is in use already: stop what listens there, or set PORT to another one.`;
    case 'EACCES':
      return `${where} may not be listened on: ports below 1024 are for root; set PORT to a higher one.`;
    case 'EADDRNOTAVAIL':
      return `${where} is not an address of this machine: set HOST to one that is, or to 0.0.0.0 for all.`;
    default:
      return `${where} can't be listened on: ${error.message}`;
  }
}
