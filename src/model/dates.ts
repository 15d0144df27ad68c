/**
 * Parses an ISO 8601 instant with seconds and time zone, such as `2027-01-01T00:00:00Z` or
 * `2027-01-01T01:00:00.5+01:00`. Returns undefined for any other text, and for a day that does not exist in its
 * month.
 */
export function parseInstant(text: string): Date | undefined {
  const day = FORM.exec(text)?.groups?.['day'];
  if (day === undefined) return undefined;
  const instant = new Date(text);
  // `Date` parses 31 February as 3 March.
  const isReal = !Number.isNaN(instant.getTime()) && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
  return isReal ? instant : undefined;
}

const FORM =
  /^(?<day>\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * The three date formats of RFC 9110, section 5.6.7: the current one, and two obsolete ones that recipients must
 * accept.
 */
const FORMS = [
  /^\w{3}, (?<day>\d\d) (?<month>\w{3}) (?<year>\d{4}) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) GMT$/,
  /^\w{6,9}, (?<day>\d\d)-(?<month>\w{3})-(?<year>\d\d) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) GMT$/,
  /^\w{3} (?<month>\w{3}) (?<day>[ \d]\d) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) (?<year>\d{4})$/,
];

/** Returns the date in a header; undefined for an invalid one, which recipients ignore. All forms are in GMT. */
export function parseDate(header: string | undefined): Date | undefined {
  const form = FORMS.map((pattern) => pattern.exec(header?.trim() ?? '')?.groups).find(Boolean);
  const month = MONTHS.indexOf(form?.['month'] ?? '');
  if (!form || month === -1) return undefined;
  const [day = 0, hour = 0, minute = 0, second = 0] = ['day', 'hour', 'minute', 'second'].map((name) =>
    Number(form[name]),
  );
  const date = new Date(Date.UTC(fullYear(form['year'] ?? ''), month, day, hour, minute, second));
  const isReal = date.getUTCDate() === day && date.getUTCHours() === hour && date.getUTCMinutes() === minute;
  return isReal ? date : undefined;
}

/** Maximum delay of a `Retry-After` header, in seconds. Larger values are probably mistakes. */
export const MAX_RETRY_AFTER_SECONDS = 3600;

/**
 * Parses a `Retry-After` header (RFC 9110, section 10.2.3). Returns whole seconds from 0 to
 * `MAX_RETRY_AFTER_SECONDS`; undefined for an invalid or missing header. A date is compared with the `Date` header of
 * the same response, if present, so that a wrong clock does not change the delay.
 */
export function parseRetryAfter(header: unknown, date?: unknown): number | undefined {
  if (typeof header !== 'string') return undefined;
  const text = header.trim();
  // The grammar allows only whole seconds, but some servers send fractions.
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : secondsUntil(text, date);
  return seconds === undefined ? undefined : Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(0, Math.ceil(seconds)));
}

function secondsUntil(text: string, date: unknown): number | undefined {
  const until = parseDate(text);
  const now = typeof date === 'string' ? parseDate(date) : undefined;
  return until && (until.getTime() - (now?.getTime() ?? Date.now())) / 1000;
}

/** Returns the latest year with these two digits that is at most 50 years ahead (RFC 9110, section 5.6.7). */
function fullYear(digits: string): number {
  const year = Number(digits);
  if (digits.length !== 2) return year;
  const now = new Date().getUTCFullYear();
  const inThisCentury = now - (now % 100) + year;
  return inThisCentury > now + 50 ? inThisCentury - 100 : inThisCentury;
}
