/** Milliseconds between two attempts to preload a value at most. */
const MAX_DELAY_MS = 60_000;

/**
 * Returns a function that loads a value once, and preloads it `delayMs` after the call. After a failure, the next call
 * loads it again, and the preload is repeated with growing delays of a minute at most: some values are never asked for.
 */
export function preloaded<Value>(delayMs: number, load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | undefined;
  const loadOnce = () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  const preload = (ms: number) =>
    setTimeout(() => void loadOnce().catch(() => preload(Math.min(2 * ms, MAX_DELAY_MS))), ms);
  preload(delayMs);
  return loadOnce;
}
