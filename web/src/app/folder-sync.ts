import { effect, untracked } from '@preact/signals';
import { preloaded } from '../model/preloaded.ts';
import type { Page } from './create-page.ts';

/** Milliseconds after which the code is loaded that keeps the folder up to date, and announces changes. */
const LOAD_DELAY_MS = 300;

/** Keeps the shown folder in sync with the route and the service, for the lifetime of the page. */
export function syncFolder(page: Page): void {
  const { account, cursor, folder, router } = page;
  effect(() => {
    const { folder: path } = router.route.value;
    untracked(() => folder.open(path));
  });
  if (account?.isSignInPage) return;
  // After signing in as another user, the permissions and the visible entries can differ.
  effect(() => {
    if (account && account.signInCount.value > 0) untracked(() => void folder.refresh());
  });
  preloaded(LOAD_DELAY_MS, async () => (await import('./live-folder.ts')).keepFolderCurrent(page, cursor));
  if (page.links) preloaded(LOAD_DELAY_MS, async () => (await import('./shared-badges.ts')).keepBadgesCurrent(page));
}
