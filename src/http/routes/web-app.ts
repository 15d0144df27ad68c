import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { App } from '../fastify-app.ts';
import { MANIFEST_PATH, renderAppManifest, SHARE_PATH } from '../page/app-manifest.ts';
import { baseOf } from '../page/document.ts';
import type { WebPage } from '../page/web-page.ts';
import type { Service } from '../service.ts';

/** The headers of a script that browsers update, such as the service worker. */
const UPDATED = { 'cache-control': 'no-cache' } as const;

/** The policy of a worker applies to its own requests: the assets of the offline page, and pages on behalf of the browser. */
const WORKER_POLICY = "default-src 'none'; connect-src 'self'";

/**
 * Registers the routes of the installed web UI. They are public, because they contain nothing of the service. They do not
 * exist below the URLs of share links.
 */
export function webAppRoutes(app: App, { page, isInstallable }: Pick<Service, 'page' | 'isInstallable'>): void {
  const options = { config: { access: 'public' }, schema: { hide: true } } as const;
  const worker = renderServiceWorker(page, isInstallable);
  app.get('/-/service-worker.js', options, (_request, reply) =>
    reply
      .headers({
        ...UPDATED,
        'content-security-policy': WORKER_POLICY,
        // Relative to the URL of the script: the scope is the root of the service.
        'service-worker-allowed': '../',
      })
      .type('text/javascript; charset=utf-8')
      .send(worker),
  );
  if (!isInstallable) return;

  const manifest = renderAppManifest(page);
  app.get(`/${MANIFEST_PATH}`, options, (_request, reply) =>
    reply.headers(UPDATED).type('application/manifest+json; charset=utf-8').send(manifest),
  );
  // The service worker receives what other apps share. Without it, the files are lost: the page says so.
  app.post(`/${SHARE_PATH}`, {
    ...options,
    // Before the body is read.
    onRequest: async (request, reply) => redirectToPage(reply, baseOf(request.url)),
    handler: (_request, reply) => reply.callNotFound(),
  });
}

function redirectToPage(reply: FastifyReply, base: string): FastifyReply {
  return reply
    .code(303)
    .headers({ location: `${base}?shared=none`, 'cache-control': 'no-store' })
    .send();
}

/** Returns the service worker with the assets of its offline page. Without them, it unregisters. */
function renderServiceWorker({ early, icon, offline, serviceWorker }: WebPage, isInstallable: boolean): string {
  const assets = JSON.stringify({ early, icon, ...offline });
  const version = createHash('sha256').update(assets).digest('base64url').slice(0, 12);
  const page = isInstallable ? JSON.stringify({ version, early, icon, ...offline }) : 'null';
  return `const OFFLINE_PAGE = ${page};\n${serviceWorker}`;
}
