import { effect } from '@preact/signals';
import type { Links } from '../model/links/links.ts';
import { readSharedPaths } from '../model/links/shared-paths.ts';
import type { Service } from '../platform/service/service.ts';
import type { Page } from './create-page.ts';

/**
 * Keeps track of the shared items in the shown folder, for the lifetime of the page: after each listing, and after each
 * change of links by this page.
 */
export function keepBadgesCurrent({ account, folder, links, service }: Page): void {
  if (!links) return;
  let shown: string | undefined;
  effect(() => {
    const path = folder.path.value;
    void links.changes.value;
    void account?.signInCount.value;
    // The badges stay while the same folder is read again.
    if (shown !== path) links.shared.value = new Set();
    shown = path;
    const canHaveLinks = account?.username.value !== null;
    // A folder is `partial` while it is read, so that each listing causes a request.
    if (!canHaveLinks || folder.state.value !== 'ready' || folder.listing.value === 'partial') return undefined;
    const ending = new AbortController();
    void showBadges(service, path, links, ending.signal);
    return () => ending.abort();
  });
}

async function showBadges(service: Service, folder: string, links: Links, signal: AbortSignal): Promise<void> {
  try {
    const shared = await readSharedPaths(service, folder, signal);
    if (!signal.aborted) links.shared.value = shared;
  } catch {
    // Without badges, the folder is still usable.
  }
}
