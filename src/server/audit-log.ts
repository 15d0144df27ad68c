import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { type Audit, noAudit } from '../access/audit.ts';
import type { Config } from '../config/settings.ts';
import { escapeInvisible } from '../model/error.ts';
import { formatForTerminal, type LogFormat } from '../observability/log.ts';
import { SettingsError } from '../settings/setting.ts';
import { makeFolder } from '../system.ts';

/** Only the owner can read the audit log. */
const FILE_MODE = 0o600;

// Without O_NONBLOCK, opening a FIFO without a reader blocks, and so does each write to a full one.
const OPEN_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/**
 * Maximum length of a value in UTF-16 code units. Every valid path fits, but requests can have values eight times as
 * long.
 */
const MAX_VALUE_CHARACTERS = 2048;

/**
 * Opens the audit log that the setting names: stdout, a file that processes can share, or none. Each event is a line
 * of JSON, written before the response to its request is sent. If a line can't be written, the request neither fails
 * nor waits, and `logger` receives the event with the reason as an error. Values of more than 2,048 characters are
 * truncated. Throws `SettingsError` if the file can't be opened at the start.
 */
export function openAuditLog(destination: string, logger: Pick<Logger, 'error'>, format: LogFormat = 'json'): Audit {
  if (destination === 'off') return noAudit;
  const sink = destination === 'stdout' ? stdout(format) : openFile(destination);
  return {
    write({ event, ...details }, { user, authMethod, appToken, clientAddress, requestId }) {
      const time = new Date().toISOString();
      const line = {
        time,
        audit: event,
        who: user?.name ?? null,
        way: authMethod ?? null,
        ...(appToken !== undefined && { appToken }),
        from: clientAddress,
        ...details,
        requestId,
      };
      const text = JSON.stringify(line, truncateValue);
      try {
        sink.write(`${text}\n`);
      } catch (error) {
        logger.error(
          { event: JSON.parse(text), reason: messageOf(error) },
          'Audit log write failed; event logged here',
        );
      }
    },
    reopen() {
      try {
        sink.reopen();
      } catch (error) {
        const details = { file: destination, reason: messageOf(error) };
        logger.error(details, 'Audit log reopen failed; still writing to the old file');
      }
    },
    close: () => sink.close(),
  };
}

/** A destination for lines. */
interface Sink {
  /** Throws if the line could not be written completely. */
  write(line: string): void;
  /** Reopens the file. Throws if that fails, and keeps the open file. */
  reopen(): void;
  close(): void;
}

function openFile(path: string): Sink {
  const open = () => {
    makeFolder(dirname(path), 0o777);
    return openSync(path, OPEN_FLAGS, FILE_MODE);
  };
  let file: number | undefined;
  try {
    file = open();
  } catch (error) {
    throw new SettingsError([`AUDIT_LOG ${path} can't be written: ${messageOf(error)}. Example: AUDIT_LOG=stdout`]);
  }
  let write = createLineWriter(file);
  return {
    write(line) {
      // After the close, the file descriptor can belong to another file.
      if (file === undefined) throw new Error('The audit log is closed.');
      write(escapeInvisible(line));
    },
    reopen() {
      if (file === undefined) return;
      const old = file;
      file = open();
      write = createLineWriter(file);
      closeSync(old);
    },
    close() {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

/**
 * Standard output, which is never opened or closed here. Uses synchronous writes, because a stream reports errors too
 * late.
 */
const stdout = (format: LogFormat): Sink => ({ write: createStdoutWriter(format), reopen: () => {}, close: () => {} });

/** Returns the format of the log lines on stdout: by default, text on a terminal, and JSON otherwise. */
export function logFormatOf({ LOG_FORMAT }: Pick<Config, 'LOG_FORMAT'>): LogFormat {
  return LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json');
}

/** Returns a function that writes lines of JSON to stdout in a format. Throws the error of the system. */
export function createStdoutWriter(format: LogFormat): (line: string) => void {
  const write = createLineWriter(1, { waitsForPipe: true });
  return format === 'json' ? (line) => write(escapeInvisible(line)) : (line) => write(formatForTerminal(line));
}

/** Truncates long strings, as a replacer for `JSON.stringify`. Clients choose the length of some values. */
function truncateValue(_key: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= MAX_VALUE_CHARACTERS) return value;
  return `${value.slice(0, MAX_VALUE_CHARACTERS).toWellFormed()}… (truncated from ${value.length} characters)`;
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

export interface LineWriterOptions {
  /** Whether a write waits while a pipe is full, as is usual for stdout. */
  readonly waitsForPipe?: boolean;
}

/** Milliseconds until the next attempt to write to a full pipe. */
const PIPE_RETRY_MS = 10;

/**
 * Returns a function that writes lines to an open file. The line is complete when the function returns, and
 * is written with a single system call if possible. Throws the system's error otherwise.
 */
export function createLineWriter(
  file: number,
  { waitsForPipe = false }: LineWriterOptions = {},
): (line: string) => void {
  let isCutOff = false;
  return (line) => {
    // A disk that becomes full can truncate a line. The next line must not continue it.
    const bytes = Buffer.from(isCutOff ? `\n${line}` : line);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSome(file, bytes.subarray(written), waitsForPipe);
      isCutOff = false;
    } catch (error) {
      isCutOff ||= written > 0;
      throw error;
    }
  };
}

const sleepBuffer = new Int32Array(new SharedArrayBuffer(4));

function writeSome(file: number, bytes: Buffer, waits: boolean): number {
  try {
    return writeSync(file, bytes);
  } catch (error) {
    // Another process that shares the pipe can have set O_NONBLOCK.
    if (!waits || !(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    Atomics.wait(sleepBuffer, 0, 0, PIPE_RETRY_MS);
    return 0;
  }
}
