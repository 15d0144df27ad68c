import { effect, untracked } from '@preact/signals';
import { type Folder, refreshUnlessLarge } from '../model/folder/folder.ts';
import type { Page } from './create-page.ts';

/** Keeps the shown folder in sync with the route and the service, for the lifetime of the page. */
export function syncFolder({ account, folder, router }: Page): void {
  effect(() => {
    const { folder: path } = router.route.value;
    untracked(() => folder.open(path));
  });
  // After signing in as another user, the permissions and the visible entries can differ.
  effect(() => {
    if (account && account.signInCount.value > 0 && !account.isSignInPage) untracked(() => void folder.refresh());
  });
  if (!account?.isSignInPage) retryReads(folder);
  refreshOnReturn(folder);
}

/** The first and the maximum delay before the page reads a folder again. The delay doubles each time. */
const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;

/**
 * Reads the folder again after a transient failure, with growing delays while the page is visible, and when the device is
 * online again.
 */
function retryReads(folder: Folder): void {
  let delay = FIRST_DELAY_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const canRetry = () => folder.problem.value?.isTransient ?? false;
  const retry = () => {
    if (canRetry()) void folder.refresh({ quietly: true });
  };
  const retryLater = () => {
    clearTimeout(timer);
    const problem = folder.problem.value;
    if (!problem || !canRetry() || document.hidden) return;
    timer = setTimeout(retry, Math.max(delay, (problem.retryAfter ?? 0) * 1_000));
    delay = Math.min(delay * 2, MAX_DELAY_MS);
  };

  effect(() => {
    if (folder.problem.value === null) delay = FIRST_DELAY_MS;
    retryLater();
  });
  window.addEventListener('online', retry);
  document.addEventListener('visibilitychange', () => {
    delay = FIRST_DELAY_MS;
    retryLater();
  });
}

/** The minimum absence after which the page reads the folder again. */
const MIN_ABSENCE_MS = 3_000;

/** Reads the folder again when the user returns to the page, because other clients might have changed it. */
function refreshOnReturn(folder: Folder): void {
  let hiddenSince = Number.NEGATIVE_INFINITY;
  const refresh = () => {
    // `retryReads` handles problems, and a folder that is loading is up to date.
    if (folder.problem.value === null && folder.state.value === 'ready') refreshUnlessLarge(folder);
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) hiddenSince = performance.now();
    else if (performance.now() - hiddenSince > MIN_ABSENCE_MS) refresh();
  });
  // When the user goes back, browsers use the cached document, with the listing of that time.
  const [navigation] = performance.getEntriesByType('navigation');
  if (navigation instanceof PerformanceNavigationTiming && navigation.type === 'back_forward') refresh();
  window.addEventListener('pageshow', ({ persisted }) => persisted && refresh());
}
