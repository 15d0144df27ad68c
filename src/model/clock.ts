/**
 * The range of times that a clock can plausibly show: from the year of the first release. A machine without a battery
 * starts in 1970 or in another year of the past.
 */
const EARLIEST = Date.UTC(2026, 0);
const LATEST = Date.UTC(2076, 0);

export const isPlausibleTime = (milliseconds: number): boolean => milliseconds >= EARLIEST && milliseconds < LATEST;

/** A time that has passed, with the value of the monotonic clock at that moment. */
let known: { readonly time: number; readonly monotonic: number } | undefined;

/** Sets the latest time that is known to have passed now. */
export function setKnownTime(milliseconds: number): void {
  known = { time: milliseconds, monotonic: performance.now() };
}

/**
 * Returns the time to record for what is kept until it expires, in milliseconds since 1970. It is not before the known
 * time: otherwise, what is deleted while the clock is wrong would expire as soon as the clock is right.
 */
export function recordingTime(): number {
  const now = Date.now();
  return known ? Math.max(now, Math.floor(known.time + performance.now() - known.monotonic)) : now;
}

/** Returns whether what was recorded at a time has expired. A time that no right clock can show proves no age. */
export const isExpired = (recorded: Date, before: Date): boolean =>
  recorded < before && isPlausibleTime(recorded.getTime());
