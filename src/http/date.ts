const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The three date formats of RFC 9110, section 5.6.7: the current one and two obsolete ones that recipients must accept. */
const FORMS = [
  /^\w{3}, (?<day>\d\d) (?<month>\w{3}) (?<year>\d{4}) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) GMT$/,
  /^\w{6,9}, (?<day>\d\d)-(?<month>\w{3})-(?<year>\d\d) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) GMT$/,
  /^\w{3} (?<month>\w{3}) (?<day>[ \d]\d) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) (?<year>\d{4})$/,
];

/** The date in a header; undefined if it is invalid, and the header must be ignored. All formats are in GMT. */
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

/** A year of two digits is the latest one that is at most fifty years ahead (RFC 9110, section 5.6.7). */
function fullYear(digits: string): number {
  const year = Number(digits);
  if (digits.length !== 2) return year;
  const now = new Date().getUTCFullYear();
  const inThisCentury = now - (now % 100) + year;
  return inThisCentury > now + 50 ? inThisCentury - 100 : inThisCentury;
}
