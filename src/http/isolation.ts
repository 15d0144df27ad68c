import type { FastifyRequest } from 'fastify';
import { hostNameOf } from './access/request-origin.ts';
import { HttpError } from './errors.ts';
import type { App } from './fastify-app.ts';
import { GENERAL_HEADERS } from './headers.ts';
import type { Service } from './service.ts';

/**
 * Sets the headers that isolate responses from other sites. With a `contentOrigin`, that origin serves only file
 * contents and health checks, and no other host serves file contents by signed URL.
 *
 * Runs before authentication, so that credentials are never evaluated on the content origin.
 */
export function isolateResponses(app: App, { contentOrigin }: Pick<Service, 'contentOrigin'>): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(GENERAL_HEADERS);
    if (contentOrigin === undefined) return done();
    const access = request.routeOptions.config.access;
    if (access === 'health') return done();
    if (isRequestFor(contentOrigin, request)) {
      reply.headers(SHARED_HEADERS);
      if (request.method === 'OPTIONS') return void reply.headers(PREFLIGHT_HEADERS).code(204).send();
      if (access !== 'signature') throw new HttpError('wrong-origin', 'This origin only serves the contents of files.');
    } else if (access === 'signature') {
      throw new HttpError(
        'wrong-origin',
        'The contents of files are only served at CONTENT_ORIGIN. If this is that origin, the reverse proxy does not ' +
          'forward the Host header.',
      );
    }
    done();
  });
}

/**
 * Headers on the content origin. Any page may read a file with its signed URL, as any program can. `*` excludes
 * requests with credentials.
 */
const SHARED_HEADERS = {
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Last-Modified, Retry-After, X-Request-Id',
} as const;

/** For browsers that send a preflight request before a range request. Newer ones don't (Fetch, section 2.2.2). */
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD',
  'access-control-allow-headers': 'Range, If-Match, If-None-Match, If-Modified-Since, If-Range, If-Unmodified-Since',
  'access-control-max-age': '86400',
} as const;

/**
 * Returns whether a request is for this origin. Compares only host names, so that no other port of the content host
 * serves the web UI.
 */
function isRequestFor(origin: string, { host }: FastifyRequest): boolean {
  return hostNameOf(new URL(origin).host) === hostNameOf(host);
}
