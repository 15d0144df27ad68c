import { deleteExpiredShares } from '../platform/shares.ts';
import type { Page } from './create-page.ts';

/**
 * Registers the service worker, and saves what another app has shared. `manifestUrl` is the URL of the manifest. Never
 * throws.
 */
export async function startWebApp(page: Page, manifestUrl: string): Promise<void> {
  const root = new URL('../', manifestUrl).href;
  const id = new URL(window.location.href).searchParams.get('shared');
  await Promise.all([register(manifestUrl, root), id === null ? forgetShares(root) : receive(page, { root, id })]);
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

async function receive(page: Page, share: { readonly root: string; readonly id: string }): Promise<void> {
  // After signing in, the page loads again with the same URL.
  if (page.account?.isSignInPage && page.account.username.value === null) return;
  await page.changes.perform(async ({ context }) => {
    const { saveReceived } = await import('../features/received/save-received.ts');
    await saveReceived({ ...page, context }, share);
  });
}

/** Deletes expired shares, also if no later share does. */
async function forgetShares(root: string): Promise<void> {
  await deleteExpiredShares(root).catch(() => {});
}

interface Policies {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(url: string): string };
}

/** Trusted Types require a named policy, which allows no other URL. */
function trusted(url: string): string {
  const { trustedTypes } = window as { trustedTypes?: Policies };
  return trustedTypes?.createPolicy('service-worker', { createScriptURL: () => url }).createScriptURL('') ?? url;
}
