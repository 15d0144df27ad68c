import type { IncomingHttpHeaders } from 'node:http';
import { parseInstant } from '../access/instant.ts';
import { quoted, StoreError } from '../domain/error.ts';
import type { FileEntry } from '../domain/store.ts';

/*
 * The modification time that a client gives a file: in the header of ownCloud and Nextcloud, which rclone, Cyberduck and
 * their own clients send, or in a field of the form.
 */

/** Returns the time of `X-OC-Mtime`, in Unix seconds with an optional fraction; `invalid-request` for everything else. */
export function modifiedInHeader(headers: IncomingHttpHeaders): Date | undefined {
  const header = headers['x-oc-mtime']?.toString();
  if (header === undefined) return undefined;
  const text = header.trim();
  const time = new Date(/^-?\d{1,15}(?:\.\d{1,9})?$/.test(text) ? Math.round(Number(text) * 1000) : Number.NaN);
  if (isInRange(time)) return time;
  throw new StoreError(
    'invalid-request',
    `The header X-OC-Mtime is ${quoted(text)}. Send Unix seconds in the years 0 to 9999, such as 1405659692.`,
  );
}

/** Parses the field `modified`: a date and time of RFC 3339. Throws `invalid-request` for everything else. */
export function parseModified(text: string): Date {
  const time = parseInstant(text);
  if (time && isInRange(time)) return time;
  throw new StoreError(
    'invalid-request',
    `The field "modified" is ${quoted(text)}. Send a date and time with its zone, such as "2026-11-22T20:55:01Z".`,
  );
}

/** Whether a file has the modification time that its client gave, as exactly as file systems keep times (FAT: two seconds). */
export function isKept(given: Date | undefined, { modified }: FileEntry): boolean {
  return given !== undefined && modified !== null && Math.abs(modified.getTime() - given.getTime()) <= 2_000;
}

/** Whether the time has a year of four digits, as dates of JSON and of HTTP have. */
function isInRange(time: Date): boolean {
  return time >= FIRST && time <= LAST;
}

const FIRST = new Date('0000-01-01T00:00:00.000Z');
const LAST = new Date('9999-12-31T23:59:59.999Z');
