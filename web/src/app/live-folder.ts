import { computed, effect, signal, untracked } from '@preact/signals';
import { coalesce } from '../model/feed/coalesce.ts';
import { FolderFollower } from '../model/feed/folder-follower.ts';
import { followFeed } from '../model/feed/follow-feed.ts';
import { type Folder, refreshUnlessLarge } from '../model/folder/folder.ts';
import { isFolderPath, isWithin, parentOf, ROOT } from '../platform/paths.ts';
import { type FeedChange, openFeed } from '../platform/service/changes.ts';
import { asServiceError } from '../platform/service/service-error.ts';
import { keepFocusInDialogs } from '../ui/dialog-focus.ts';
import { announceChanges } from './announcements.ts';
import type { Page } from './create-page.ts';

/**
 * Keeps the shown folder up to date, announces changes, and keeps the focus in dialogs, for the lifetime of the page. `cursor` is that of the change feed from before the page's
 * first listing; undefined if it is unknown.
 */
export function keepFolderCurrent(page: Page, cursor: string | undefined): void {
  announceChanges(page);
  keepFocusInDialogs();
  retryReads(page.folder);
  refreshOnReturn(page);
  // The log of changes is not open to visitors.
  if (page.visit === null) followChanges(page, cursor);
  recordVisits(page);
}

/** Remembers the files and folders that the user opens. */
function recordVisits({ folder, places, router }: Page): void {
  effect(() => {
    const { folder: path, preview, view } = router.route.value;
    const isShown = folder.path.value === path && folder.state.value === 'ready';
    const visited = preview ?? path;
    if (isShown && !view && visited !== ROOT) untracked(() => places?.visited.add(visited));
  });
}

/** Shows the changes of other clients. */
function followChanges(page: Page, cursor: string | undefined): void {
  const { account, changes, dav, details, folder, service, urls } = page;
  const follower = new FolderFollower(page);
  const reportTrash = coalesce(() => {
    changes.trashChanges.value++;
  });
  const requestLocks = coalesce(() => {
    if (dav) dav.changes.value++;
  });
  const notify = (change: FeedChange | undefined) => {
    for (const listener of details.feedListeners) listener(change);
  };
  const isActive = watchPage();
  // While a folder is loading, its path can still change, and after most errors, the stream would fail too.
  const isFollowed = computed(() => folder.state.value === 'ready' || folder.problem.value?.isNotFound === true);
  followFeed({
    cursor,
    open: (options) => openFeed(urls, { ...options, hasLocks: dav !== null }),
    target() {
      void account?.signInCount.value;
      return isActive.value && isFollowed.value ? folder.path.value : null;
    },
    async checkSession() {
      try {
        await service.list(folder.path.peek(), { limit: 1, isBackground: true });
        return true;
      } catch (error) {
        const isSignInRequired = asServiceError(error).isSignInRequired;
        // Shows that the entries can be outdated. Signing in restarts the stream.
        if (isSignInRequired) void folder.refresh({ isBackground: true });
        return !isSignInRequired;
      }
    },
    onChange(change) {
      follower.receive(change);
      if (affectsTrash(change)) reportTrash();
      notify(change);
    },
    onLocks(path) {
      if (path === undefined || concernsLocks(path, folder.path.peek())) requestLocks();
    },
    onGap() {
      follower.refresh();
      reportTrash();
      notify(undefined);
    },
  });
}

/** Returns whether a folder shows the locks of a path: of itself, of an entry, or of a folder that contains it. */
function concernsLocks(path: string, folder: string): boolean {
  return parentOf(path) === folder || (isFolderPath(path) && isWithin(folder, path));
}

/** Returns whether a change can add items to the trash, or remove some. A folder can replace another one, which is then there. */
function affectsTrash({ type }: FeedChange): boolean {
  return !['file.written', 'file.replaced', 'file.copied', 'file.moved', 'file.touched'].includes(type);
}

/**
 * Returns whether the page is visible and not in the back/forward cache. Browsers allow six connections to an HTTP/1.1 server,
 * so that hidden pages must not keep one.
 */
function watchPage() {
  const isActive = signal(!document.hidden);
  const update = () => {
    isActive.value = !document.hidden;
  };
  document.addEventListener('visibilitychange', update);
  window.addEventListener('pageshow', update);
  window.addEventListener('pagehide', () => {
    isActive.value = false;
  });
  return isActive;
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
    if (canRetry()) void folder.refresh({ isBackground: true });
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
function refreshOnReturn({ account, folder }: Page): void {
  let hiddenSince = Number.NEGATIVE_INFINITY;
  const refresh = () => {
    void account?.check();
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
  else void account?.check().then((hasEnded) => hasEnded && refreshUnlessLarge(folder));
  window.addEventListener('pageshow', ({ persisted }) => persisted && refresh());
}
