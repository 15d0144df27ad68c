import type { IncomingHttpHeaders } from 'node:http';
import { quoted, StoreError } from '../domain/error.ts';
import { parseDate } from '../domain/http-date.ts';
import type { FileEntry, WriteCondition } from '../domain/store.ts';

/** What the conditions of a request ask for: to answer as usual, that nothing changed (304), or to refuse (412). */
export type Verdict = 'proceed' | 'not-modified' | 'failed';

/** Whether a request has conditions on the state of the file. */
export function hasPreconditions(headers: IncomingHttpHeaders): boolean {
  return CONDITIONS.some((name) => headers[name] !== undefined);
}

const CONDITIONS = ['if-match', 'if-unmodified-since', 'if-none-match', 'if-modified-since'] as const;

type Version = Pick<FileEntry, 'etag' | 'modified' | 'changed'>;

/**
 * Returns the time to send as `Last-Modified`. It is never in the future (RFC 9110, section 8.8.2.1), where an uploader may
 * have set the file's own time.
 */
export function lastModified({ modified, changed }: Pick<Version, 'modified' | 'changed'>): Date | null {
  const now = new Date();
  if (modified === null || modified <= now) return modified;
  return changed && changed <= now ? changed : now;
}

/** Evaluates the conditions of a GET or HEAD, in the order of RFC 9110, section 13.2.2. */
export function evaluate(headers: IncomingHttpHeaders, version: Version): Verdict {
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
 * Returns whether `If-Range` permits a range response: without the header, always (RFC 9110, section 13.1.5). A date that an
 * uploader chose is no strong validator: several versions may have it.
 */
export function allowsRange(header: string | undefined, { etag, modified, changed }: Version): boolean {
  if (header === undefined) return true;
  if (header.startsWith('"') || header.startsWith('W/')) return header === quote(etag);
  const date = parseDate(header);
  return date !== undefined && modified !== null && !changed && seconds(modified) === seconds(date);
}

/**
 * The condition on a write. Throws `unsupported` for a condition that makes no sense there, since one that is
 * not honoured must not pass in silence.
 */
export function writeCondition(headers: IncomingHttpHeaders): WriteCondition | undefined {
  const [ifNoneMatch, ifMatch, since] = (['if-none-match', 'if-match', 'if-unmodified-since'] as const).map(
    (name) => headers[name],
  );
  if (ifNoneMatch === undefined && ifMatch === undefined && since === undefined) return undefined;
  const etag = /^\s*"([^"]*)"\s*$/.exec(ifMatch ?? '')?.[1];
  if (etag !== undefined && !/^[!-~]*$/.test(etag)) {
    throw new StoreError(
      'invalid-request',
      `The ETag ${quoted(etag)} of If-Match has characters that no ETag here has.`,
    );
  }
  // With If-Match, If-Unmodified-Since is to be ignored (RFC 9110, section 13.1.4).
  if (ifNoneMatch === undefined && etag !== undefined) return { etag };
  if (ifNoneMatch?.trim() === '*' && ifMatch === undefined && since === undefined) return 'absent';
  throw new StoreError(
    'unsupported',
    'An upload may have the condition If-None-Match: * or If-Match with one strong etag, and no other.',
  );
}

/** An etag as it stands in headers. */
export function quote(etag: string): string {
  return `"${etag}"`;
}

function matches(header: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (header.trim() === '*') return true;
  const listed = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return listed.some((item) => (comparison === 'weak' ? item.replace(/^W\//, '') : item) === quote(etag));
}

/**
 * Returns whether the file has not changed since the date in a header; undefined without a date, or without a time of the file.
 * The date is the file's `Last-Modified`, or not before its modification and its arrival at this path: a new version may be
 * dated before the one that it replaced.
 */
function isUnmodifiedSince(version: Version, header: string | undefined): boolean | undefined {
  const date = parseDate(header);
  const sent = lastModified(version);
  if (date === undefined || version.modified === null || sent === null) return undefined;
  if (seconds(sent) === seconds(date)) return true;
  return seconds(version.modified) <= seconds(date) && (!version.changed || seconds(version.changed) <= seconds(date));
}

const seconds = (date: Date) => Math.floor(date.getTime() / 1000);
