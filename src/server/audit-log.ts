import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { type Audit, noAudit } from '../access/audit.ts';
import { SettingsError } from '../config/config.ts';
import { escapeInvisible } from '../model/error.ts';
import { makeFolder } from '../system.ts';

/** The files of the audit log are for their owner alone. */
const MODE = 0o600;

// A FIFO that nobody reads would hold up its opening, and one that is full each write, but for O_NONBLOCK.
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/** Characters of a value: as many as every path has, while what a stranger asks for may have eight times as many. */
const LONGEST_VALUE = 2048;

/**
 * The audit log that the setting names: a line of JSON for each event, on stdout, at the end of a file that processes
 * share, or nowhere. A line is written before the answer to what it tells of has gone out. Where it can't be written,
 * nothing fails and nothing waits: the event goes to `logger` instead, as an error with the reason. Values of more than
 * 2,048 characters are cut. Throws `SettingsError` where the file can't be opened to begin with.
 */
export function openAuditLog(destination: string, logger: Pick<Logger, 'error'>): Audit {
  if (destination === 'off') return noAudit;
  const sink = destination === 'stdout' ? stdout() : openFile(destination);
  return {
    write({ event, ...what }, { who, way, from, requestId }) {
      const time = new Date().toISOString();
      const line = { time, audit: event, who: who?.name ?? null, way: way ?? null, from, ...what, requestId };
      const text = JSON.stringify(line, shortened);
      try {
        sink.write(`${text}\n`);
      } catch (error) {
        const message = 'An event could not be written to the audit log (AUDIT_LOG), and is written down here instead.';
        logger.error({ event: JSON.parse(text), reason: messageOf(error) }, message);
      }
    },
    reopen() {
      try {
        sink.reopen();
      } catch (error) {
        const details = { file: destination, reason: messageOf(error) };
        logger.error(
          details,
          'The audit log (AUDIT_LOG) could not be opened anew. The file that was open stays in use.',
        );
      }
    },
    close: () => sink.close(),
  };
}

/** Where lines are written. */
interface Sink {
  /** Throws where not all of the line could be written. */
  write(line: string): void;
  /** Throws where it can't be opened, and goes on with what was open. */
  reopen(): void;
  close(): void;
}

function openFile(path: string): Sink {
  const open = () => {
    makeFolder(dirname(path), 0o777);
    return openSync(path, FLAGS, MODE);
  };
  let file: number | undefined;
  try {
    file = open();
  } catch (error) {
    throw new SettingsError([`AUDIT_LOG ${path} can't be written: ${messageOf(error)}. Example: AUDIT_LOG=stdout`]);
  }
  let write = writeLinesTo(file);
  return {
    write(line) {
      // The number may be that of another file by then.
      if (file === undefined) throw new Error('It is closed.');
      write(line);
    },
    reopen() {
      if (file === undefined) return;
      const old = file;
      file = open();
      write = writeLinesTo(file);
      closeSync(old);
    },
    close() {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

/** Nobody else's to open or close. As a stream it would tell of what went wrong when it is too late to do anything. */
const stdout = (): Sink => ({ write: writeLinesTo(1, { waits: true }), reopen: () => {}, close: () => {} });

/** For `JSON.stringify`: what clients choose is as long as they like. */
function shortened(_key: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= LONGEST_VALUE) return value;
  return `${value.slice(0, LONGEST_VALUE).toWellFormed()}… (cut off: ${value.length} characters)`;
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

export interface LinesOptions {
  /** Whether to wait for whoever reads the other end of a pipe, as it is usual for stdout. */
  readonly waits?: boolean;
}

/** Milliseconds until a pipe that was full is tried again. */
const PIPE_RETRY = 10;

/**
 * Writes lines of JSON to an open file. Each is there as a whole when it returns, by one call of the system where that
 * takes all of it. Throws the system's error where it is not.
 */
export function writeLinesTo(file: number, { waits = false }: LinesOptions = {}): (line: string) => void {
  let isCutOff = false;
  return (json) => {
    const line = escapeInvisible(json);
    // A disk that becomes full takes a part of a line: the next one does not go on where that ended.
    const bytes = Buffer.from(isCutOff ? `\n${line}` : line);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSome(file, bytes.subarray(written), waits);
      isCutOff = false;
    } catch (error) {
      isCutOff ||= written > 0;
      throw error;
    }
  };
}

const nobody = new Int32Array(new SharedArrayBuffer(4));

function writeSome(file: number, bytes: Buffer, waits: boolean): number {
  try {
    return writeSync(file, bytes);
  } catch (error) {
    // Whatever shares the pipe may have made it one that does not wait by itself.
    if (!waits || !(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    Atomics.wait(nobody, 0, 0, PIPE_RETRY);
    return 0;
  }
}
