/**
 * Returns a function that loads a value once, and preloads it `delayMs` after the call. After a failure, the next call
 * loads it again.
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
  setTimeout(() => void loadOnce().catch(() => {}), delayMs);
  return loadOnce;
}
