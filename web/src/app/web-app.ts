import { deleteExpiredShares, deleteSharesOfOthers, savedShares } from '../platform/shares.ts';
import type { Page } from './create-page.ts';

/**
 * Registers the service worker, and saves what another app has shared. `manifestUrl` is the URL of the manifest. Never
 * throws.
 */
export async function startWebApp(page: Page, manifestUrl: string): Promise<void> {
  const root = new URL('../', manifestUrl).href;
  const id = new URL(window.location.href).searchParams.get('shared');
  await Promise.all([register(manifestUrl, root), useShares(page, root, id).catch(() => {})]);
}

/** Milliseconds until the registration, which must not delay the first view of the folder and its thumbnails. */
const REGISTRATION_DELAY_MS = 1_500;

/** Without HTTPS, browsers have no service workers, and some private windows refuse them. The page works without one. */
async function register(manifestUrl: string, scope: string): Promise<void> {
  const { serviceWorker } = navigator as Partial<Navigator>;
  await new Promise((resolve) => setTimeout(resolve, REGISTRATION_DELAY_MS));
  const url = new URL('service-worker.js', manifestUrl).href;
  await serviceWorker?.register(trusted(url), { scope, updateViaCache: 'none' }).catch(() => {});
}

/** Receives a share, or offers to continue with those whose uploads have not ended. */
async function useShares(page: Page, root: string, id: string | null): Promise<void> {
  const username = page.account?.username.value ?? null;
  // After signing in, the page loads again with the same URL.
  if (page.account?.isSignInPage && username === null) return;
  if (username !== null) await deleteSharesOfOthers(root, username).catch(() => {});
  if (id !== null) {
    return page.changes.perform(async ({ context }) => {
      const { saveReceived } = await import('../features/received/save-received.ts');
      await saveReceived({ ...page, context, root }, id);
    });
  }
  // Also if no later share does it.
  await deleteExpiredShares(root);
  const saved = await savedShares(root, username);
  if (saved.length === 0) return;
  await page.changes.perform(async ({ context }) => {
    const { offerUnfinished } = await import('../features/received/save-received.ts');
    for (const state of saved) await offerUnfinished({ ...page, context, root }, state);
  });
}

interface Policies {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(url: string): string };
}

/** Trusted Types require a named policy, which allows no other URL. */
function trusted(url: string): string {
  const { trustedTypes } = window as { trustedTypes?: Policies };
  return trustedTypes?.createPolicy('service-worker', { createScriptURL: () => url }).createScriptURL('') ?? url;
}
