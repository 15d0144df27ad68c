import { AccessFileError } from '../access/access-file-syntax.ts';
import type { Config } from '../config/settings.ts';
import { PageNotBuilt } from '../http/page/web-page.ts';
import { isStoreError } from '../model/error.ts';
import { SettingsError } from '../settings/setting.ts';

/** Signals that stop the service: from a supervisor and from the keyboard. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The exit code of a failed start, like EX_CONFIG in sysexits.h. */
export const START_FAILED = 78;

/**
 * Returns whether the service writes files to reopen on SIGHUP. Otherwise SIGHUP, which a closing terminal also
 * sends, ends the service.
 */
export function writesFiles({ AUDIT_LOG }: Config): boolean {
  return AUDIT_LOG !== 'stdout' && AUDIT_LOG !== 'off';
}

/**
 * Returns the reason why the service can't start, as one line or a list of mistakes. Returns undefined for a bug,
 * which needs its stack trace.
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
