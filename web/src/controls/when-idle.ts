/** Milliseconds after which browsers without `requestIdleCallback` count as idle. */
const REST = 2_000;

/** Runs something once the browser is idle. Returns a function that cancels it. */
export function whenIdle(run: () => void): () => void {
  if (!('requestIdleCallback' in window)) {
    const timer = setTimeout(run, REST);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(run);
  return () => cancelIdleCallback(handle);
}
