/** Milliseconds in which changes are handled together. */
const COALESCE_MS = 500;

/** Returns a function that calls `run` a moment after its first call, once for all calls until then or until `signal` aborts. */
export function coalesce(run: () => void, signal?: AbortSignal): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  signal?.addEventListener('abort', () => clearTimeout(timer));
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      run();
    }, COALESCE_MS);
  };
}
