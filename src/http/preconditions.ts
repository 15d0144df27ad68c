import type { IncomingHttpHeaders } from 'node:http';
import { StoreError } from '../domain/error.ts';
import type { FileEntry, WriteCondition } from '../domain/store.ts';
import { parseDate } from './date.ts';

/** What the conditions of a request ask for: to answer as usual, that nothing changed (304), or to refuse (412). */
export type Verdict = 'proceed' | 'not-modified' | 'failed';

/** Whether a request has conditions on the state of the file. */
export function hasPreconditions(headers: IncomingHttpHeaders): boolean {
  return CONDITIONS.some((name) => headers[name] !== undefined);
}

const CONDITIONS = ['if-match', 'if-unmodified-since', 'if-none-match', 'if-modified-since'] as const;

/** The conditions of a GET or HEAD, in the order of RFC 9110, section 13.2.2. */
export function evaluate(
  headers: IncomingHttpHeaders,
  { etag, modified }: Pick<FileEntry, 'etag' | 'modified'>,
): Verdict {
  const ifMatch = headers['if-match'];
  const ifNoneMatch = headers['if-none-match'];
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, etag, 'strong')) return 'failed';
  } else if (isLaterThan(modified, headers['if-unmodified-since'])) {
    return 'failed';
  }
  if (ifNoneMatch !== undefined) return matches(ifNoneMatch, etag, 'weak') ? 'not-modified' : 'proceed';
  const since = parseDate(headers['if-modified-since']);
  return since !== undefined && modified !== null && seconds(modified) <= seconds(since) ? 'not-modified' : 'proceed';
}

/** Whether `If-Range` lets a range be answered: without the header, always (RFC 9110, section 13.1.5). */
export function allowsRange(
  header: string | undefined,
  { etag, modified }: Pick<FileEntry, 'etag' | 'modified'>,
): boolean {
  if (header === undefined) return true;
  if (header.startsWith('"') || header.startsWith('W/')) return header === quote(etag);
  const date = parseDate(header);
  return date !== undefined && modified !== null && seconds(modified) === seconds(date);
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

function isLaterThan(modified: Date | null, header: string | undefined): boolean {
  const date = parseDate(header);
  return date !== undefined && modified !== null && seconds(modified) > seconds(date);
}

const seconds = (date: Date) => Math.floor(date.getTime() / 1000);
