/** When a link or a token ends: never, after some days, or at the end of a date. */
export type Expiry = 'never' | 'days1' | 'days7' | 'days30' | 'days90' | 'date';

export const EXPIRIES: readonly Expiry[] = ['never', 'days1', 'days7', 'days30', 'days90', 'date'];

/** The days after which it expires. */
export const EXPIRY_DAYS = { days1: 1, days7: 7, days30: 30, days90: 90 } as const satisfies Partial<
  Record<Expiry, number>
>;

export interface ExpiryForm {
  readonly expiry: Expiry;
  /** The last day in the time zone of the user, as `2026-12-31`. */
  readonly date: string;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Returns the time of the expiry; undefined without an expiry. */
export function expiryOf({ expiry, date }: ExpiryForm, now: Date): Date | undefined {
  if (expiry === 'never') return undefined;
  return expiry === 'date' ? endOfDay(date) : new Date(now.getTime() + EXPIRY_DAYS[expiry] * DAY_MS);
}

/** Returns whether the expiry is in the past, or not a date. */
export function isExpired(form: ExpiryForm, now: Date): boolean {
  const end = expiryOf(form, now);
  return end !== undefined && !(end > now);
}

/** Returns the last moment of a date in the time zone of the user; an invalid `Date` for any other text. */
function endOfDay(date: string): Date {
  const [year = Number.NaN, month = Number.NaN, day = Number.NaN] = date.split('-').map(Number);
  const end = new Date(year, month - 1, day, 23, 59, 59, 999);
  // While the user types a year, date fields accept more than four digits.
  return end.getFullYear() > 9999 ? new Date(Number.NaN) : end;
}

/** Returns a date in the time zone of the user as `2026-12-31`. */
export function dateOf(time: Date): string {
  const parts = [time.getMonth() + 1, time.getDate()].map((part) => String(part).padStart(2, '0'));
  return [String(time.getFullYear()).padStart(4, '0'), ...parts].join('-');
}
