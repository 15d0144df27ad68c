import type { IncomingHttpHeaders } from 'node:http';
import { parseContentCoding } from '../../model/content-coding.ts';
import type { FileEntry } from '../../model/store.ts';

/** The metadata of an object that has the modification time of the file, as rclone and s3fs write it: seconds since 1970. */
const MODIFIED_HEADER = 'x-amz-meta-mtime';

/** Years 0 to 9999, which dates in JSON and HTTP require. */
const MIN_MS = Date.parse('0000-01-01T00:00:00.000Z');
const MAX_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** What the headers of an object say about its file, in addition to its size and ETag. */
export interface ObjectMetadata {
  /** The modification time that a client set. Listings don't contain it. */
  readonly mtime?: Date | undefined;
  readonly encoding?: FileEntry['encoding'] | undefined;
}

/** Returns the metadata in the headers of a response. Ignores values that other programs wrote in another form. */
export function metadataOf(headers: IncomingHttpHeaders): ObjectMetadata {
  return { mtime: parseTime(headers[MODIFIED_HEADER]), encoding: parseContentCoding(headers['content-encoding']) };
}

/** Returns the attributes of an object whose client set a modification time. */
export function timeAttributes(modified: Date | undefined): Readonly<Record<string, string>> {
  return modified ? { [MODIFIED_HEADER]: formatTime(modified) } : {};
}

/** Parses seconds since 1970 with up to nine decimals (rclone), or without (s3fs). Rounds down to milliseconds. */
function parseTime(header: string | readonly string[] | undefined): Date | undefined {
  const [, sign = '', seconds, fraction = ''] =
    /^(-?)(\d{1,12})(?:\.(\d{1,9}))?$/.exec(String(header ?? '').trim()) ?? [];
  if (seconds === undefined) return undefined;
  const nanoseconds = BigInt(`${sign}${seconds}${fraction.padEnd(9, '0')}`);
  const milliseconds = Number((nanoseconds - (nanoseconds < 0n ? 999_999n : 0n)) / 1_000_000n);
  return milliseconds >= MIN_MS && milliseconds <= MAX_MS ? new Date(milliseconds) : undefined;
}

/** Formats a time like rclone: without trailing zeros, and without a point in whole seconds. */
function formatTime(time: Date): string {
  const text = String(Math.abs(time.getTime()) / 1000);
  return time.getTime() < 0 ? `-${text}` : text;
}
