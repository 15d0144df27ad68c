import type { IncomingHttpHeaders } from 'node:http';
import type { GuardedFiles } from '../access/guard.ts';
import { parseDate, parseInstant } from '../model/dates.ts';
import { quoted } from '../model/error.ts';
import type { FilePath } from '../model/path.ts';
import type { ByteRange } from '../model/range.ts';
import type { Entry, FileEntry, WriteCondition } from '../model/store.ts';
import { notFound } from '../model/store-errors.ts';
import { HttpError } from './errors.ts';

/** The result of the preconditions: respond normally, with 304, or with 412. */
export type Verdict = 'proceed' | 'not-modified' | 'failed';

/** Returns whether a request has preconditions on the state of the file. */
export function hasPreconditions(headers: IncomingHttpHeaders): boolean {
  return PRECONDITION_HEADERS.some((name) => headers[name] !== undefined);
}

const PRECONDITION_HEADERS = ['if-match', 'if-unmodified-since', 'if-none-match', 'if-modified-since'] as const;

type Version = Pick<FileEntry, 'etag' | 'modified' | 'changed'>;

/**
 * Returns the time to send as `Last-Modified`. It is never in the future (RFC 9110, section 8.8.2.1), even if the
 * uploader set a future modification time.
 */
export function lastModified({ modified, changed }: Pick<Version, 'modified' | 'changed'>): Date | null {
  const now = new Date();
  if (modified === null || modified <= now) return modified;
  return changed && changed <= now ? changed : now;
}

/** Evaluates the preconditions of a GET or HEAD request, in the order of RFC 9110, section 13.2.2. */
export function evaluatePreconditions(headers: IncomingHttpHeaders, version: Version): Verdict {
  const { etag } = version;
  const ifMatch = headers['if-match'];
  const ifNoneMatch = headers['if-none-match'];
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, etag, 'strong')) return 'failed';
  } else if (isUnmodifiedSince(version, headers['if-unmodified-since']) === false) {
    return 'failed';
  }
  if (ifNoneMatch !== undefined) return matches(ifNoneMatch, etag, 'weak') ? 'not-modified' : 'proceed';
  return isUnmodifiedSince(version, headers['if-modified-since']) ? 'not-modified' : 'proceed';
}

/**
 * Returns whether `If-Range` permits a range response: always without the header (RFC 9110, section 13.1.5). A date
 * that an uploader set is not a strong validator, because several versions can share it.
 */
export function allowsRange(header: string | undefined, { etag, modified, changed }: Version): boolean {
  if (header === undefined) return true;
  if (header.startsWith('"') || header.startsWith('W/')) return header === quoteEtag(etag);
  const date = parseDate(header);
  return date !== undefined && modified !== null && !changed && toSeconds(modified) === toSeconds(date);
}

/** What exists at the path of a request, as far as the user may know. */
export interface Present {
  readonly entry: Entry | undefined;
  /** Whether the user may know the ETag and the modification time. */
  readonly isReadable: boolean;
}

export type Find = () => Promise<Present>;

type FindingFiles = Pick<GuardedFiles, 'canRead' | 'findForChange'>;

/** Returns what finds a file for its preconditions. */
export function finderOf(files: FindingFiles, file: FilePath): Find {
  return async () => ({ entry: await files.findForChange(file), isReadable: files.canRead(file) });
}

/** What visitors of share links find: they never replace a file, because a taken name gets a number. */
export const findNothing: Find = async () => ({ entry: undefined, isReadable: false });

/**
 * Returns the condition that a write passes to the store, which checks it atomically. Other preconditions than
 * `If-None-Match: *` and one strong ETag in `If-Match` are evaluated for the current file, and the write is limited to that
 * version. Throws `condition-failed`.
 */
export async function writeCondition(headers: IncomingHttpHeaders, find: Find): Promise<WriteCondition | undefined> {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch, 'if-unmodified-since': since } = headers;
  if (ifMatch === undefined && since === undefined) {
    if (ifNoneMatch === undefined || !hasMembers(ifNoneMatch)) return undefined;
    if (ifNoneMatch.trim() === '*') return 'absent';
  }
  const [, etag] = /^\s*"([!#-~]*)"\s*$/.exec(ifMatch ?? '') ?? [];
  // With If-Match, If-Unmodified-Since must be ignored (RFC 9110, section 13.1.4).
  if (etag !== undefined && ifNoneMatch === undefined) return { etag };
  const { entry, isReadable } = await find();
  requirePreconditions(headers, entry, isReadable);
  return entry?.kind === 'file' ? { etag: entry.etag } : 'absent';
}

/**
 * Returns the ETag that a file must have to be deleted; empty without a precondition. Throws `condition-failed`, and
 * `not-found` if the precondition only permits to delete a file that does not exist.
 */
export async function deleteCondition(
  headers: IncomingHttpHeaders,
  files: FindingFiles & Pick<GuardedFiles, 'requireDelete'>,
  file: FilePath,
): Promise<{ readonly ifMatch?: string }> {
  if (!hasPreconditions(headers)) return {};
  // A user who can't delete the file gets the same response as without a condition.
  await files.requireDelete(file);
  const find = finderOf(files, file);
  const condition = await writeCondition(headers, find);
  if (condition === undefined) return {};
  if (condition !== 'absent') return { ifMatch: condition.etag };
  const { entry, isReadable } = await find();
  requirePreconditions(headers, entry, isReadable);
  throw notFound(file);
}

/** Throws `condition-failed` unless the file that a request copies, moves or changes otherwise meets its preconditions. */
export async function requireFileConditions(
  headers: IncomingHttpHeaders,
  files: FindingFiles,
  file: FilePath,
): Promise<void> {
  if (!hasPreconditions(headers)) return;
  const { entry, isReadable } = await finderOf(files, file)();
  requirePreconditions(headers, entry, isReadable);
}

/**
 * Throws `condition-failed` unless what exists at the path of a request meets its preconditions (RFC 9110, section 13.2.2).
 * A folder has no ETag. Unless `isReadable`, any date fails, because the responses to several dates would reveal the
 * modification time.
 */
export function requirePreconditions(
  headers: IncomingHttpHeaders,
  present: Entry | undefined,
  isReadable = true,
): void {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch, 'if-unmodified-since': since } = headers;
  const file = present?.kind === 'file' ? present : undefined;
  const isMatch = (header: string, comparison: 'strong' | 'weak') =>
    present !== undefined && matches(header, file?.etag, comparison);
  const fail = (name: string, value: string) => conditionFailed(name, value, stateFor(name, present, isReadable));
  if (ifMatch !== undefined) {
    if (!isMatch(ifMatch, 'strong')) throw fail('If-Match', ifMatch);
  } else if (file && since !== undefined) {
    const holds = isReadable ? isUnmodifiedSince(file, since) !== false : parseDate(since) === undefined;
    if (!holds) throw fail('If-Unmodified-Since', since);
  }
  if (ifNoneMatch !== undefined && isMatch(ifNoneMatch, 'weak')) throw fail('If-None-Match', ifNoneMatch);
}

function conditionFailed(name: string, value: string, state: string): HttpError {
  return new HttpError('condition-failed', `The condition ${name}: ${value} does not hold: ${state}.`);
}

/** Describes what a condition was compared with. */
function stateFor(condition: string, present: Entry | undefined, isReadable: boolean): string {
  if (!present) return 'the file or folder does not exist';
  const path = quoted(present.path);
  if (!isReadable) return `you don't have the permission to read ${path}`;
  if (present.kind !== 'file') {
    return condition === 'If-None-Match' ? `the folder ${path} exists` : `${path} is a folder, which has no ETag`;
  }
  if (condition !== 'If-Unmodified-Since') return `the ETag of ${path} is ${quoteEtag(present.etag)}`;
  const times = [present.modified, present.changed].flatMap((time) => time?.getTime() ?? []);
  return `${path} changed on ${new Date(Math.max(...times)).toUTCString()}`;
}

/** Returns an ETag in header syntax. */
export function quoteEtag(etag: string): string {
  return `"${etag}"`;
}

/** The ETags and asterisks in a list, and anything else. */
const LIST_ITEM = /(?:W\/)?"[^"]*"|[^\s,"]+/g;

/** Returns whether a list has an ETag or an asterisk. Anything else matches nothing, such as an ETag without quotes. */
function hasMembers(header: string): boolean {
  return listItems(header).some((item) => item === '*' || item.endsWith('"'));
}

/** `etag` is undefined for a folder. */
function matches(header: string, etag: string | undefined, comparison: 'strong' | 'weak'): boolean {
  const items = listItems(header);
  // An asterisk in a list is invalid. A change is only refused for it, never permitted.
  if (header.trim() === '*' || (comparison === 'weak' && items.includes('*'))) return true;
  if (etag === undefined) return false;
  return items.some((item) => (comparison === 'weak' ? item.replace(/^W\//, '') : item) === quoteEtag(etag));
}

const listItems = (header: string): readonly string[] => header.match(LIST_ITEM) ?? [];

/**
 * Returns whether the file is unchanged since the date in a header; undefined without a date or a modification time.
 *
 * The date must equal `Last-Modified`, or be no earlier than the modification and the arrival at this path. A new
 * version can have an earlier modification time than the version it replaced.
 */
function isUnmodifiedSince(version: Version, header: string | undefined): boolean | undefined {
  const date = parseDate(header);
  const sent = lastModified(version);
  if (date === undefined || version.modified === null || sent === null) return undefined;
  if (toSeconds(sent) === toSeconds(date)) return true;
  return (
    toSeconds(version.modified) <= toSeconds(date) &&
    (!version.changed || toSeconds(version.changed) <= toSeconds(date))
  );
}

const toSeconds = (date: Date) => Math.floor(date.getTime() / 1000);

/**
 * Returns the single range of a `Range` header (RFC 9110, section 14.2). Returns undefined if the whole file must be
 * sent: no header, another unit, invalid syntax, or several ranges, which a server is free to ignore.
 */
export function parseRange(header: string | undefined): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const [start, end] = [first, last].map((digits) => Math.min(Number(digits), Number.MAX_SAFE_INTEGER)) as [
    number,
    number,
  ];
  if (first === '') return { suffix: end };
  if (last === '') return { start };
  return start > end ? undefined : { start, end };
}

/*
 * The modification time that a client sets for a file: in the `X-OC-Mtime` header of ownCloud and Nextcloud, or in a
 * form field. rclone, Cyberduck, and the ownCloud and Nextcloud clients send the header.
 */

/**
 * Returns the time of `X-OC-Mtime`: Unix seconds with an optional fraction; undefined without the header. Throws
 * `invalid-request` if the value is not such a time.
 */
export function parseModifiedHeader(headers: IncomingHttpHeaders): Date | undefined {
  const header = headers['x-oc-mtime']?.toString();
  if (header === undefined) return undefined;
  const text = header.trim();
  const time = new Date(/^-?\d{1,15}(?:\.\d{1,9})?$/.test(text) ? Math.round(Number(text) * 1000) : Number.NaN);
  if (isInRange(time)) return time;
  throw new HttpError(
    'invalid-header',
    `The header X-OC-Mtime is ${quoted(text)}. Send Unix seconds in the years 0 to 9999, such as 1405659692.`,
  );
}

/** Parses the field `modified`: an RFC 3339 date and time. Throws `invalid-request` for any other value. */
export function parseModifiedField(text: string): Date {
  const time = parseInstant(text);
  if (time && isInRange(time)) return time;
  throw new HttpError(
    'invalid-parameter',
    `The field "modified" is ${quoted(text)}. Send a date and time with its zone, such as "2026-11-22T20:55:01Z".`,
  );
}

/**
 * Returns whether a file has the modification time that its client set, within the resolution of file systems (FAT: two
 * seconds).
 */
export function hasModifiedTime(requested: Date | undefined, { modified }: FileEntry): boolean {
  return requested !== undefined && modified !== null && Math.abs(modified.getTime() - requested.getTime()) <= 2_000;
}

/** Returns whether the year has four digits, as dates in JSON and HTTP require. */
function isInRange(time: Date): boolean {
  return time >= MIN_TIME && time <= MAX_TIME;
}

const MIN_TIME = new Date('0000-01-01T00:00:00.000Z');
const MAX_TIME = new Date('9999-12-31T23:59:59.999Z');
