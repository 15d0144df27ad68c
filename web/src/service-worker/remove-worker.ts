import { deleteShares } from '../platform/shares.ts';
import { deleteCaches, type ServiceWorkerScope } from './scope.ts';

/**
 * Replaces an installed worker, deletes what it has stored, and unregisters: also at each navigation, because a page of an
 * earlier configuration registers the worker again when it was loading.
 */
export function removeWorker(scope: ServiceWorkerScope): void {
  scope.addEventListener('install', (event) => event.waitUntil(scope.skipWaiting()));
  scope.addEventListener('activate', (event) => event.waitUntil(remove(scope)));
  scope.addEventListener('fetch', ({ request }) => {
    if (request.mode === 'navigate') void scope.registration.unregister();
  });
}

async function remove(scope: ServiceWorkerScope): Promise<void> {
  await Promise.allSettled([deleteCaches(scope), deleteShares(scope.registration.scope)]);
  await scope.registration.unregister();
}
