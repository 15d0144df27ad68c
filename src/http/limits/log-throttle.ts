/** Milliseconds between two lines of one kind: what comes by the thousand must not fill the log. */
const INTERVAL = 60_000;

/**
 * A function to call whenever something happens: `tell` is called for the first time at once, and then at most once a
 * minute, with how often it happened since it was last told, and what there is to say of the latest.
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
