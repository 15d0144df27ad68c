import { effect, type ReadonlySignal, signal } from '@preact/signals';
import { type Badge, badges } from '../features/folder/badges.ts';
import type { Dav } from '../model/dav.ts';
import { coalesce } from '../model/feed/coalesce.ts';
import type { Links } from '../model/links/links.ts';
import { readSharedPaths } from '../model/links/shared-paths.ts';
import { delayUntilExpiry } from '../model/locks/locks.ts';
import { listLocks } from '../platform/service/locks.ts';
import { completeLanguage } from '../platform/text/language.ts';
import type { Page } from './create-page.ts';

/** Shows which items of the shown folder are shared or locked, for the lifetime of the page. */
export async function keepBadgesCurrent(page: Page): Promise<void> {
  const { dav, links } = page;
  const shared = signal<ReadonlySet<string>>(new Set());
  if (links) followLinks(page, links, shared);
  if (dav) followLocks(page, dav);
  const language = await completeLanguage(page.language);
  effect(() => {
    const { text } = language.value;
    const found = new Map<string, readonly Badge[]>();
    const add = (paths: Iterable<string>, badge: Badge) => {
      for (const path of paths) found.set(path, [...(found.get(path) ?? []), badge]);
    };
    add(shared.value, { icon: 'link', label: text.links.badge });
    add(new Set(dav?.locks.value.map(({ path }) => path)), { icon: 'lock', label: text.locks.badge });
    badges.value = found;
  });
}

/** Finds the shared items after each listing, and after each change of links by this page. */
function followLinks({ account, folder, service }: Page, links: Links, shared: { value: ReadonlySet<string> }): void {
  let shown: string | undefined;
  effect(() => {
    const path = folder.path.value;
    void links.changes.value;
    void account?.signInCount.value;
    // The badges stay while the same folder is read again.
    if (shown !== path) shared.value = new Set();
    shown = path;
    const canHaveLinks = account?.username.value !== null;
    // A folder is `partial` while it is read, so that each listing causes a request.
    if (!canHaveLinks || folder.state.value !== 'ready' || folder.listing.value === 'partial') return undefined;
    return abortable(async (ending) => {
      const paths = await readSharedPaths(service, path, ending);
      if (!ending.aborted) shared.value = paths;
    });
  });
}

/** Milliseconds after the last change of the entries before the locks are read. */
const LOCKS_DELAY_MS = 200;

/**
 * Reads the locks after each listing, after changes of the folder, when the feed reports changes of locks, when the user
 * returns to the page, when a lock expires, and after this page ended one.
 */
function followLocks({ account, folder, permissions, service }: Page, dav: Dav): void {
  const isVisible = watchVisibility(() => dav.changes.value++);
  let shown: string | undefined;
  effect(() => {
    const path = folder.path.value;
    void dav.changes.value;
    void folder.all.value;
    void account?.signInCount.value;
    if (shown !== path) dav.locks.value = [];
    shown = path;
    // Users see the folders that lead to what they can read, but not their locks.
    if (!permissions.allowsIn(path, 'read')) return undefined;
    if (folder.state.value !== 'ready' || folder.listing.value === 'partial') return undefined;
    let abort = () => {};
    const timer = setTimeout(() => {
      abort = abortable(async (ending) => {
        const locks = await listLocks(service, path, ending);
        if (!ending.aborted) dav.locks.value = locks;
      });
    }, LOCKS_DELAY_MS);
    return () => {
      clearTimeout(timer);
      abort();
    };
  });
  effect(() => {
    const delay = delayUntilExpiry(dav.locks.value, new Date());
    if (delay === undefined || !isVisible.value) return undefined;
    const timer = setTimeout(() => dav.changes.value++, delay);
    return () => clearTimeout(timer);
  });
}

/** Returns whether the page is visible. Calls `onReturn` when the user returns to it. */
function watchVisibility(onReturn: () => void): ReadonlySignal<boolean> {
  const isVisible = signal(!document.hidden);
  const returned = coalesce(onReturn);
  document.addEventListener('visibilitychange', () => {
    isVisible.value = !document.hidden;
    if (isVisible.value) returned();
  });
  window.addEventListener('focus', returned);
  return isVisible;
}

/** Runs a request whose failure changes nothing: without badges, the folder is still usable. Returns the function that aborts it. */
function abortable(request: (signal: AbortSignal) => Promise<void>): () => void {
  const ending = new AbortController();
  void request(ending.signal).catch(() => {});
  return () => ending.abort();
}
