import { parseInstant } from '../model/dates.ts';
import { UsageError } from './command.ts';

/**
 * Parses the value of `--expires`, and returns it in the form of the access file. Accepts a duration such as `90d`, a day (UTC) or an
 * instant. Throws `UsageError` for any other text, and for a time in the past.
 */
export function readExpiry(text: string, now: Date): string {
  const expires = addDuration(text, now) ?? parseInstant(`${text}T00:00:00Z`) ?? parseInstant(text);
  if (!expires || Number.isNaN(expires.getTime())) {
    throw new UsageError(
      '--expires must be a duration such as 12h, 90d, 8w or 1y, a day such as 2027-01-01, or a time with a zone such as 2027-01-01T00:00:00Z.',
    );
  }
  if (expires <= now) throw new UsageError('--expires must be in the future.');
  return expires.toISOString().replace(/\.\d+Z$/, 'Z');
}

function addDuration(text: string, now: Date): Date | undefined {
  const [, count, unit] = /^(\d{1,6})([hdwy])$/.exec(text) ?? [];
  const hours = HOURS_PER_UNIT.get(unit ?? '');
  if (hours === undefined) return undefined;
  const end = new Date(now.getTime() + Number(count) * hours * 3_600_000);
  // Years after 9999 have five digits, which the access file does not accept.
  return end.getTime() < MAX_EXPIRY_MS ? end : new Date(Number.NaN);
}

const HOURS_PER_UNIT = new Map([
  ['h', 1],
  ['d', 24],
  ['w', 7 * 24],
  ['y', 365 * 24],
]);

const MAX_EXPIRY_MS = Date.parse('9999-12-31T23:59:59Z');
