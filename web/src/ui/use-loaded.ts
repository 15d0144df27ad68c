import { useEffect, useState } from 'preact/hooks';

/** Something that is asked for when a component appears, and given up when it goes. */
export type Loaded<Value> =
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly value: Value }
  | { readonly state: 'failed'; readonly error: Error; readonly retry: () => void };

/** Asks for it anew when one of `inputs` is another than before. */
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
