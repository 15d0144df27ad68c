/** The minimum milliseconds of a pause while the page is hidden, so that it costs little. */
const HIDDEN_PAUSE_MS = 15_000;

/** Resolves after so many milliseconds, or later while the page is hidden, but at once when it is shown or the signal aborts. */
export async function pauseWhileVisible(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const ended = new AbortController();
  const end = () => resolve();
  const timer = setTimeout(end, document.hidden ? Math.max(milliseconds, HIDDEN_PAUSE_MS) : milliseconds);
  document.addEventListener('visibilitychange', () => !document.hidden && end(), { signal: ended.signal });
  signal?.addEventListener('abort', end, { signal: ended.signal });
  await promise;
  clearTimeout(timer);
  ended.abort();
}
