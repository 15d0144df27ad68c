import { type Folder, refreshUnlessLarge } from '../model/folder/folder.ts';

/** Milliseconds that one has to be away before the folder is read again on coming back. */
const AWAY = 3_000;

/**
 * Reads the folder again when one comes back to the page, from another tab or by going back: others may have changed it
 * meanwhile. Goes on until the function that it gives is called.
 */
export function keepFresh(folder: Folder): () => void {
  const listening = new AbortController();
  const { signal } = listening;
  let leftAt = Number.NEGATIVE_INFINITY;

  const refresh = () => {
    // What has a problem is asked for anyway, and what is being read is as fresh as can be.
    if (folder.problem.value === null && folder.state.value === 'ready') refreshUnlessLarge(folder);
  };
  document.addEventListener(
    'visibilitychange',
    () => {
      if (document.hidden) leftAt = performance.now();
      else if (performance.now() - leftAt > AWAY) refresh();
    },
    { signal },
  );
  // For going back, browsers show the document that they have, and with it the listing of that time.
  const [navigation] = performance.getEntriesByType('navigation');
  if (navigation instanceof PerformanceNavigationTiming && navigation.type === 'back_forward') refresh();
  window.addEventListener('pageshow', ({ persisted }) => persisted && refresh(), { signal });
  return () => listening.abort();
}
