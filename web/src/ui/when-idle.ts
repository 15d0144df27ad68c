/** Calls `run` when the browser is idle. */
export function whenIdle(run: () => void): void {
  if ('requestIdleCallback' in window) requestIdleCallback(run);
  else setTimeout(run, DELAY_MS);
}

/** The delay between two checks of the pictures, in milliseconds, and the number of checks after which they no longer count. */
const DELAY_MS = 500;
const MAX_CHECKS = 20;

/**
 * Calls `run` when the pictures of the page are loaded, and the browser is idle, so that it delays nothing that the user
 * sees.
 */
export function whenPicturesLoaded(run: () => void, checks = MAX_CHECKS): void {
  setTimeout(() => {
    if (checks > 0 && Array.from(document.images).some(({ complete }) => !complete))
      whenPicturesLoaded(run, checks - 1);
    else whenIdle(run);
  }, DELAY_MS);
}
