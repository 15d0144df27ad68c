import { deleteExpiredShares, SHARE_PATH } from '../platform/shares.ts';
import { assetsOf, type OfflinePage, offlineDocument } from './offline-document.ts';
import { receiveShare } from './receive-share.ts';
import { cachePrefix, deleteCaches, type FetchEvent, type InstallEvent, type ServiceWorkerScope } from './scope.ts';

/** The first segments of URLs that are no page of a folder: files, thumbnails, the HTTP API and share links. */
const NO_PAGE = /^(?:file|thumb|-|delete|delete_folder|rename|rename_folder)\//;

/** Shows the offline page for folders without a connection, and receives what other apps share. */
export function serve(scope: ServiceWorkerScope, page: OfflinePage): void {
  const root = scope.registration.scope;
  const cacheName = cachePrefix(scope) + page.version;
  const assets = new Set(assetsOf(page).map((path) => root + path));

  const install = async (event: InstallEvent) => {
    await Promise.all([caches.open(cacheName).then((cache) => cache.addAll([...assets])), passBy(event, assets)]);
    // Pages that are open load nothing of the earlier worker.
    await scope.skipWaiting();
  };
  const activate = async () => {
    // Otherwise, navigations would wait until the browser has started the worker.
    await scope.registration.navigationPreload?.enable();
    await deleteCaches(scope, cacheName);
    await deleteExpiredShares(root);
  };
  const readAsset = async (request: Request) => (await caches.match(request, { cacheName })) ?? fetch(request.url);
  const navigate = async ({ request, preloadResponse }: FetchEvent) => {
    try {
      return (await preloadResponse) ?? (await fetch(request));
    } catch (error) {
      // The browser can have deleted the cache. Its own error page is better than an empty one.
      if (!(await caches.match(new URL(`-/assets/${page.script}`, root), { cacheName }))) throw error;
      return offlineDocument(page, root);
    }
  };

  scope.addEventListener('install', (event) => event.waitUntil(install(event)));
  scope.addEventListener('activate', (event) => event.waitUntil(activate()));
  scope.addEventListener('fetch', (event) => {
    const { request } = event;
    const [url = ''] = request.url.split(/[?#]/);
    if (!url.startsWith(root)) return;
    const path = url.slice(root.length);
    const isNavigation = request.mode === 'navigate' && request.destination === 'document';
    if (request.method === 'POST' && isNavigation && path === SHARE_PATH)
      event.respondWith(receiveShare(request, root));
    else if (request.method !== 'GET') return;
    else if (assets.has(url)) event.respondWith(readAsset(request));
    else if (isNavigation && !NO_PAGE.test(path)) event.respondWith(navigate(event));
  });
}

/**
 * Lets Chromium send all requests directly that are no navigations, without starting the worker. Other browsers ask the
 * worker, which ignores them.
 */
async function passBy(event: InstallEvent, assets: ReadonlySet<string>): Promise<void> {
  const direct = (condition: object) => ({ condition, source: 'network' });
  try {
    await event.addRoutes?.([
      ...[...assets].map((urlPattern) => ({ condition: { urlPattern }, source: 'fetch-event' })),
      ...['no-cors', 'same-origin', 'cors'].map((requestMode) => direct({ requestMode })),
    ]);
  } catch {
    // An earlier version of the API.
  }
}
