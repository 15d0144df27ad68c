/** Formats of numbers, times and names in a language. */
export interface Formats {
  readonly locale: string;
  /** A whole number, with its separators. */
  readonly number: (value: number) => string;
  /** A rounded number of bytes: `1.4 MB`. */
  readonly size: (bytes: number) => string;
  /** An exact number of bytes: `1,423,112 bytes`. */
  readonly exactSize: (bytes: number) => string;
  /** A number from 0 to 1 as `42%`. */
  readonly percent: (part: number) => string;
  readonly speed: (bytesPerSecond: number) => string;
  /** A duration, rounded to one unit: `3 min`. */
  readonly duration: (seconds: number) => string;
  /**
   * A time for lists: `today, 8:41 PM`, `yesterday, 8:41 PM`, `Wednesday, 8:41 PM` in the last week, otherwise
   * `Nov 3, 2026`. Lower case as within a sentence.
   */
  readonly time: (time: Date) => string;
  /** Date and time to the second, with the time zone. */
  readonly exactTime: (time: Date) => string;
  /** Compares names in natural order: `file 2` before `file 10`. */
  readonly compareNames: (left: string, right: string) => number;
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte', 'petabyte'] as const;

export function createFormats(locale: string, now = () => new Date()): Formats {
  const numbers = new Intl.NumberFormat(locale);
  const percents = new Intl.NumberFormat(locale, { style: 'percent' });
  const bytes = new Intl.NumberFormat(locale, { style: 'unit', unit: 'byte', unitDisplay: 'long' });
  const days = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const weekday = new Intl.DateTimeFormat(locale, { weekday: 'long' });
  const timeOfDay = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
  const separator = separatorOf(locale);
  const anyYear = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', year: 'numeric' });
  const exactly = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'long' });
  const collator = new Intl.Collator(locale, { numeric: true, sensitivity: 'base', ignorePunctuation: false });

  const unitOf = cached((key: string) => {
    const [unit = 'byte', digits = '0', display = 'short'] = key.split(' ');
    return new Intl.NumberFormat(locale, {
      style: 'unit',
      unit,
      unitDisplay: display === 'narrow' ? 'narrow' : 'short',
      maximumFractionDigits: Number(digits),
    });
  });
  const inUnits = (value: number): readonly [number, string] => {
    const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
    return [value / 1000 ** power, UNITS[power] ?? 'byte'];
  };
  const digitsOf = (amount: number, unit: string) => (unit !== 'byte' && amount < 10 ? 1 : 0);

  return {
    locale,
    number: (value) => numbers.format(value),
    percent: (part) => percents.format(part),
    exactSize: (size) => bytes.format(size),
    size(size) {
      const [amount, unit] = inUnits(size);
      if (unit === 'byte') return bytes.format(size);
      return unitOf(`${unit} ${digitsOf(amount, unit)}`).format(amount);
    },
    speed(bytesPerSecond) {
      const [amount, unit] = inUnits(bytesPerSecond);
      return unitOf(`${unit}-per-second ${digitsOf(amount, unit)}`).format(amount);
    },
    duration(seconds) {
      if (seconds < 60) return unitOf('second').format(Math.max(1, Math.round(seconds)));
      if (seconds < 3600) return unitOf('minute').format(Math.round(seconds / 60));
      return unitOf('hour 1').format(seconds / 3600);
    },
    time(time) {
      const ago = daysBetween(time, now());
      if (!(ago >= -1 && ago < 7)) return anyYear.format(time);
      const day = ago < 2 ? days.format(-ago, 'day') : weekday.format(time);
      return day + separator + timeOfDay.format(time);
    },
    exactTime: (time) => exactly.format(time),
    // The collator ignores case. Names that differ only in case need a fixed order as well.
    compareNames: (left, right) => collator.compare(left, right) || (left < right ? -1 : left > right ? 1 : 0),
  };
}

/** Returns what a language writes between a date and a time of day. */
function separatorOf(locale: string): string {
  const parts = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).formatToParts(0);
  const time = parts.findIndex(({ type }) => type === 'hour' || type === 'dayPeriod');
  // In Chinese, the part before the time also has a character of the date.
  return parts[time - 1]?.value.replace(/^[^\s\p{P}]+/u, '') || ' ';
}

/** Returns the number of midnights from `from` to `to`, in the time zone of the browser. */
function daysBetween(from: Date, to: Date): number {
  const [start, end] = [from, to].map((time) => Date.UTC(time.getFullYear(), time.getMonth(), time.getDate()));
  return ((end ?? 0) - (start ?? 0)) / DAY_MS;
}

const DAY_MS = 86_400_000;

function cached<Value>(make: (key: string) => Value): (key: string) => Value {
  const made = new Map<string, Value>();
  return (key) => {
    const value = made.get(key) ?? make(key);
    made.set(key, value);
    return value;
  };
}
