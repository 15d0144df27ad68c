/** The delay in browsers without `requestIdleCallback`. */
const IDLE_DELAY_MS = 2_000;

/** Calls `run` when the browser is idle. Returns a function that cancels the call. */
export function whenIdle(run: () => void): () => void {
  if (!('requestIdleCallback' in window)) {
    const timer = setTimeout(run, IDLE_DELAY_MS);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(run);
  return () => cancelIdleCallback(handle);
}
