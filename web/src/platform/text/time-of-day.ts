import type { Formats } from './formats.ts';

/** Returns the time of a moment within a day, such as `3:41 PM`. */
export function timeOfDay({ locale }: Pick<Formats, 'locale'>, time: Date): string {
  return new Intl.DateTimeFormat(locale, { timeStyle: 'short' }).format(time);
}
