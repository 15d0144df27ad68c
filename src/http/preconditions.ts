import type { IncomingHttpHeaders } from 'node:http';
import { quoted, StoreError } from '../domain/error.ts';
import { parseDate } from '../domain/http-date.ts';
import type { FileEntry, WriteCondition } from '../domain/store.ts';

/** The result of the preconditions: respond normally, with 304, or with 412. */
export type Verdict = 'proceed' | 'not-modified' | 'failed';

/** Returns whether a request has preconditions on the state of the file. */
export function hasPreconditions(headers: IncomingHttpHeaders): boolean {
  return CONDITIONS.some((name) => headers[name] !== undefined);
}

const CONDITIONS = ['if-match', 'if-unmodified-since', 'if-none-match', 'if-modified-since'] as const;

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
 * Returns whether `If-Range` permits a range response: always without the header (RFC 9110, section 13.1.5). A date
 * that an uploader set is not a strong validator, because several versions can share it.
 */
export function allowsRange(header: string | undefined, { etag, modified, changed }: Version): boolean {
  if (header === undefined) return true;
  if (header.startsWith('"') || header.startsWith('W/')) return header === quote(etag);
  const date = parseDate(header);
  return date !== undefined && modified !== null && !changed && seconds(modified) === seconds(date);
}

/**
 * Returns the precondition of a write. Throws `unsupported` for a precondition that the write can't honor, because
 * ignoring it would be unsafe.
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
  // With If-Match, If-Unmodified-Since must be ignored (RFC 9110, section 13.1.4).
  if (ifNoneMatch === undefined && etag !== undefined) return { etag };
  if (ifNoneMatch?.trim() === '*' && ifMatch === undefined && since === undefined) return 'absent';
  throw new StoreError(
    'unsupported',
    'An upload may have the condition If-None-Match: * or If-Match with one strong etag, and no other.',
  );
}

/** Returns an ETag in header syntax. */
export function quote(etag: string): string {
  return `"${etag}"`;
}

function matches(header: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (header.trim() === '*') return true;
  const listed = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return listed.some((item) => (comparison === 'weak' ? item.replace(/^W\//, '') : item) === quote(etag));
}

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
  if (seconds(sent) === seconds(date)) return true;
  return seconds(version.modified) <= seconds(date) && (!version.changed || seconds(version.changed) <= seconds(date));
}

const seconds = (date: Date) => Math.floor(date.getTime() / 1000);
