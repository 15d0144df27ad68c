import type { IncomingHttpHeaders } from 'node:http';
import { quoted, StoreError } from '../domain/error.ts';
import { parseInstant } from '../domain/instant.ts';
import type { FileEntry } from '../domain/store.ts';

/*
 * The modification time that a client sets for a file: in the `X-OC-Mtime` header of ownCloud and Nextcloud, which
 * rclone, Cyberduck and their own clients send, or in a form field.
 */

/**
 * Returns the time of `X-OC-Mtime`: Unix seconds with an optional fraction. Throws `invalid-request` for anything else.
 */
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

/** Parses the field `modified`: an RFC 3339 date and time. Throws `invalid-request` for anything else. */
export function parseModified(text: string): Date {
  const time = parseInstant(text);
  if (time && isInRange(time)) return time;
  throw new StoreError(
    'invalid-request',
    `The field "modified" is ${quoted(text)}. Send a date and time with its zone, such as "2026-11-22T20:55:01Z".`,
  );
}

/**
 * Returns whether a file has the modification time that its client set, within the resolution of file systems (FAT: two
 * seconds).
 */
export function isKept(given: Date | undefined, { modified }: FileEntry): boolean {
  return given !== undefined && modified !== null && Math.abs(modified.getTime() - given.getTime()) <= 2_000;
}

/** Returns whether the year has four digits, as dates in JSON and HTTP require. */
function isInRange(time: Date): boolean {
  return time >= FIRST && time <= LAST;
}

const FIRST = new Date('0000-01-01T00:00:00.000Z');
const LAST = new Date('9999-12-31T23:59:59.999Z');
