/** Delay for browsers without `requestIdleCallback`. */
const REST = 2_000;

/** Calls `run` once the browser is idle. Returns a function that cancels the call. */
export function whenIdle(run: () => void): () => void {
  if (!('requestIdleCallback' in window)) {
    const timer = setTimeout(run, REST);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(run);
  return () => cancelIdleCallback(handle);
}
