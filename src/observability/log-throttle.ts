/** Minimum milliseconds between two log lines of one kind, so that frequent events don't flood the log. */
const MIN_INTERVAL_MS = 60_000;

/**
 * Returns a function to call for each event. It calls `log` for the first event at once, then at most once a minute.
 * `log` gets the number of events since its last call, and the details of the latest one.
 */
export function throttleLog<Details extends readonly unknown[] = []>(
  log: (events: number, ...latest: Details) => void,
): (...details: Details) => void {
  let lastLogged = Number.NEGATIVE_INFINITY;
  let events = 0;
  return (...details) => {
    events++;
    const now = performance.now();
    if (now - lastLogged < MIN_INTERVAL_MS) return;
    log(events, ...details);
    lastLogged = now;
    events = 0;
  };
}
