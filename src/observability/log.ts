import { styleText } from 'node:util';
import { type Logger, pino } from 'pino';
import { escapeInvisible } from '../model/error.ts';

/** How log lines look: one JSON object per line, or text for a person at a terminal. */
export type LogFormat = 'json' | 'pretty';

/** Creates a logger that passes each line of JSON to `write`, with the name of the level and a time in ISO 8601. */
export function createLogger(level: string, write: (line: string) => void): Logger {
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, { write });
}

type Style = Parameters<typeof styleText>[0];

/** Adds a color to a text, or returns it unchanged where colors are off. */
export type Colorize = (style: Style, text: string) => string;

const LABEL_STYLES: Readonly<Record<string, Style>> = {
  trace: 'gray',
  debug: 'gray',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: ['bold', 'red'],
  audit: 'cyan',
};

/** Characters of the longest label. */
const LABEL_WIDTH = 5;

/**
 * Returns a line of the log or of the audit log as text for a terminal: the local time, the level, the message, and the
 * other members that are not null as `name=value`. The stack of an error follows on indented lines. Escapes all control characters, because
 * clients choose some values. By default, uses colors as `styleText` does: on a terminal, and by `NO_COLOR` and
 * `FORCE_COLOR`.
 */
export function formatForTerminal(json: string, colorize: Colorize = (style, text) => styleText(style, text)): string {
  const record = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const { time, level, pid: _pid, audit, msg, err, requestId, ...fields } = record;
  const label = audit === undefined ? String(level) : 'audit';
  const isRequest = msg === REQUEST_MESSAGE && fields['method'] !== undefined;
  const present = Object.entries(fields).filter(([, value]) => value !== null);
  const details = isRequest ? [] : present.map(([name, value]) => `${formatValue(name)}=${formatValue(value)}`);
  const parts = [
    colorize('gray', formatTime(time)),
    colorize(LABEL_STYLES[label] ?? 'reset', label.toUpperCase().padEnd(LABEL_WIDTH)),
    isRequest ? describeRequest(fields, colorize) : escapeControls(textOf(audit ?? msg)),
    ...details,
    ...(requestId === undefined ? [] : [colorize('gray', `requestId=${formatValue(requestId)}`)]),
  ];
  return `${parts.filter((part) => part !== '').join(' ')}\n${formatError(err)}`;
}

/** The message of the line that is logged for each request. */
export const REQUEST_MESSAGE = 'request';

/** Returns `GET /photos/ 200, 12.3 ms, 568 bytes`. */
function describeRequest(fields: Readonly<Record<string, unknown>>, colorize: Colorize): string {
  const { method, path, status, milliseconds, bytes } = fields;
  const code = Number(status);
  const style = code >= 500 ? 'red' : code >= 400 ? 'yellow' : 'green';
  const request = `${formatValue(method)} ${formatValue(path)} ${colorize(style, String(code))}`;
  return `${request}, ${Number(milliseconds)} ms, ${Number(bytes)} bytes`;
}

function formatTime(time: unknown): string {
  const date = new Date(typeof time === 'string' ? time : Number.NaN);
  return Number.isNaN(date.getTime()) ? '--:--:--' : date.toTimeString().slice(0, 8);
}

/** Returns a value without spaces as it is, and any other one as JSON. */
function formatValue(value: unknown): string {
  if (typeof value === 'string' && /^[\p{L}\p{N}\p{P}\p{S}]+$/u.test(value) && !/["\\]/.test(value)) {
    return escapeInvisible(value);
  }
  return escapeInvisible(JSON.stringify(value) ?? 'undefined');
}

/** Returns a string as it is; an empty text for any other value. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the stack of a logged error, or its message if it has no stack, as indented lines. */
function formatError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { stack, message } = error as { readonly stack?: unknown; readonly message?: unknown };
  return textOf(stack ?? message)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => `    ${escapeControls(line)}\n`)
    .join('');
}

/** Escapes the control characters of a line as in JSON. */
function escapeControls(line: string): string {
  return escapeInvisible(JSON.stringify(line).slice(1, -1).replaceAll('\\"', '"').replaceAll('\\\\', '\\'));
}

/** Where a service is, and what it serves. */
export interface ReadyService {
  readonly url: string;
  /** The store, as text. */
  readonly serves: string;
  /** Who has access, as text. */
  readonly access: string;
  readonly version: string;
  /** Null if the build did not know it. */
  readonly commit: string | null;
  /** How many processes serve. */
  readonly workers: number;
}

/** Returns the lines that a terminal shows when the service is ready. */
export function formatBanner(
  { url, serves, access, version }: ReadyService,
  colorize: Colorize = (style, text) => styleText(style, text),
): string {
  const rows = [
    ['URL', colorize(['bold', 'cyan'], escapeControls(url))],
    ['Files', escapeControls(serves)],
    ['Access', escapeControls(access)],
  ];
  const lines = rows.map(([name = '', value]) => `  ${name.padEnd(8)}${value}\n`);
  return `\n  ${colorize('bold', `Holdall ${version}`)} is ready. Press Ctrl+C to stop it.\n\n${lines.join('')}\n`;
}
