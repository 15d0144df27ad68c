/** Minimum milliseconds between two log lines of one kind, so that frequent events don't flood the log. */
const INTERVAL = 60_000;

/**
 * Returns a function to call for each event. It calls `tell` for the first event at once, then at most once a minute.
 * `tell` gets the number of events since its last call, and the details of the latest one.
 */
export function throttleLog<Details extends readonly unknown[] = []>(
  tell: (times: number, ...latest: Details) => void,
): (...details: Details) => void {
  let last = Number.NEGATIVE_INFINITY;
  let times = 0;
  return (...details) => {
    times++;
    const now = performance.now();
    if (now - last < INTERVAL) return;
    tell(times, ...details);
    last = now;
    times = 0;
  };
}
