import { removeWorker } from './remove-worker.ts';
import type { ServiceWorkerScope } from './scope.ts';
import { serve } from './serve.ts';

/*
 * The service worker of the installed web UI. It stores only the assets of the offline page and the files that other apps
 * share. All requests for files, listings and the HTTP API pass it by. `src/http/routes/web-app.ts` puts `OFFLINE_PAGE`
 * before this script.
 */

/** The assets of the offline page; null if the service has no installable web UI any longer. */
declare const OFFLINE_PAGE: import('./offline-document.ts').OfflinePage | null;

const scope = self as unknown as ServiceWorkerScope;
if (OFFLINE_PAGE) serve(scope, OFFLINE_PAGE);
else removeWorker(scope);
