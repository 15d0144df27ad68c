/** The delay between two looks at the pictures, in milliseconds, and the time after which they count no longer. */
const DELAY_MS = 500;
const MAX_WAIT_MS = 10_000;

/**
 * Calls `run` when the pictures of the page are loaded, and when the browser is idle, so that it delays nothing that the user
 * sees. Returns a function that cancels the call.
 */
export function whenIdle(run: () => void): () => void {
  const end = performance.now() + MAX_WAIT_MS;
  let isCancelled = false;
  const runUnlessCancelled = () => {
    if (!isCancelled) run();
  };
  const look = () => {
    const areLoading = Array.from(document.images).some(({ complete }) => !complete);
    if (areLoading && performance.now() < end) setTimeout(look, DELAY_MS);
    else if ('requestIdleCallback' in window) requestIdleCallback(runUnlessCancelled, { timeout: MAX_WAIT_MS });
    else runUnlessCancelled();
  };
  setTimeout(look, DELAY_MS);
  return () => {
    isCancelled = true;
  };
}
