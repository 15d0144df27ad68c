import { useEffect, useMemo, useState } from 'preact/hooks';

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
  const [latest, setLatest] = useState<{ readonly run: object; readonly loaded: Loaded<Value> }>();
  // Identifies the run, so that the render after a change of the inputs doesn't return the previous value.
  const run = useMemo(() => ({}), [attempt, ...inputs]);
  useEffect(() => {
    const aborting = new AbortController();
    const { signal } = aborting;
    const set = (loaded: Loaded<Value>) => {
      if (!signal.aborted) setLatest({ run, loaded });
    };
    const start = async () => {
      try {
        set({ state: 'ready', value: await load(signal) });
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        set({ state: 'failed', error, retry: () => setAttempt(attempt + 1) });
      }
    };
    void start();
    return () => aborting.abort();
  }, [run]);
  return latest?.run === run ? latest.loaded : { state: 'loading' };
}
