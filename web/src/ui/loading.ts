import { useEffect, useState } from 'preact/hooks';

export type Loaded<Value> =
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly value: Value }
  | { readonly state: 'failed'; readonly error: Error; readonly retry: () => void };

/** Loads a value when the component is mounted, and again when one of `inputs` changes. Aborts when it is unmounted. */
export function useLoaded<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  inputs: readonly unknown[] = [],
): Loaded<Value> {
  const [attempt, setAttempt] = useState(0);
  const [loaded, setLoaded] = useState<Loaded<Value>>({ state: 'loading' });
  useEffect(() => {
    const aborting = new AbortController();
    const { signal } = aborting;
    const run = async () => {
      try {
        const value = await load(signal);
        if (!signal.aborted) setLoaded({ state: 'ready', value });
      } catch (thrown) {
        if (signal.aborted) return;
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        setLoaded({ state: 'failed', error, retry: () => setAttempt(attempt + 1) });
      }
    };
    setLoaded({ state: 'loading' });
    void run();
    return () => aborting.abort();
  }, [attempt, ...inputs]);
  return loaded;
}

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
