import { pino } from 'pino';
import { type Audit, noAudit } from '../access/audit.ts';
import { SettingsError } from '../config/config.ts';

/** The files of the audit log are for their owner alone. */
const MODE = 0o600;

/**
 * The audit log that the setting names: a line of JSON for each event, on stdout, at the end of a file that processes
 * share, or nowhere. A line is written before the answer to what it tells of has gone out. Throws
 * `SettingsError` where the file can't be written.
 */
export function openAuditLog(destination: string): Audit {
  if (destination === 'off') return noAudit;
  const sink = openSink(destination);
  return {
    write({ event, ...what }, { who, way, from, requestId }) {
      const time = new Date().toISOString();
      const line = { time, audit: event, who: who?.name ?? null, way: way ?? null, from, ...what, requestId };
      sink.write(`${JSON.stringify(line)}\n`);
    },
    reopen: () => void (destination === 'stdout' || sink.reopen()),
    close: () => sink.flushSync(),
  };
}

function openSink(destination: string) {
  try {
    return pino.destination({ dest: destination === 'stdout' ? 1 : destination, sync: true, mkdir: true, mode: MODE });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SettingsError([`AUDIT_LOG ${destination} can't be written: ${reason}. Example: AUDIT_LOG=stdout`]);
  }
}
