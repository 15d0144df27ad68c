import { parseInstant } from './dates.ts';
import { quoted, StoreError } from './error.ts';

/** Returns the time at which a credential expires. Throws `invalid-request` unless it is a time in the future. */
export function parseExpiry(text: string): Date {
  const time = parseInstant(text.toUpperCase());
  if (!time) {
    const message = `The expiry ${quoted(text)} is not a date and time with its offset, such as 2026-12-31T18:00:00Z.`;
    throw new StoreError('invalid-request', message);
  }
  if (time.getTime() > Date.now()) return time;
  throw new StoreError('invalid-request', `The expiry ${quoted(text)} is not in the future.`);
}
