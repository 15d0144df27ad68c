import { effect, untracked } from '@preact/signals';
import { preloaded } from '../model/preloaded.ts';
import { isAlbum } from '../platform/file-kinds.ts';
import type { Page } from './create-page.ts';

/** Milliseconds after which the code is loaded that keeps the folder up to date, and announces changes. */
const LOAD_DELAY_MS = 300;

/** Keeps the shown folder in sync with the route and the service, for the lifetime of the page. */
export function syncFolder(page: Page): void {
  const { account, cursor, folder, router, visit } = page;
  effect(() => {
    const { folder: path } = router.route.value;
    untracked(() => folder.open(path));
  });
  if (visit === null) followView(page);
  if (account?.isSignInPage) return;
  // After signing in as another user, the permissions and the visible entries can differ.
  effect(() => {
    if (account && account.signInCount.value > 0) untracked(() => void folder.refresh());
  });
  preloaded(LOAD_DELAY_MS, async () => (await import('./transitions.ts')).animateNavigation(page));
  preloaded(LOAD_DELAY_MS, async () => (await import('./live-folder.ts')).keepFolderCurrent(page, cursor));
  if (page.links || page.dav)
    preloaded(LOAD_DELAY_MS, async () => (await import('./badges.ts')).keepBadgesCurrent(page));
}

/** Shows each folder in its own view, once its entries are known. */
function followView({ folder, preferences }: Page): void {
  let opened: string | undefined;
  effect(() => {
    const path = folder.path.value;
    if (folder.state.value !== 'ready' || path === opened) return;
    opened = path;
    untracked(() => preferences.openFolder(path, isAlbum(folder.entries.value)));
  });
}
