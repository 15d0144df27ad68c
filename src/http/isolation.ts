import type { FastifyRequest } from 'fastify';
import { nameOf } from './access/request-origin.ts';
import { HttpError } from './errors.ts';
import type { App } from './fastify-app.ts';
import { GENERAL_HEADERS } from './headers.ts';
import type { Service } from './service.ts';

/**
 * Keeps what is served apart from the pages of others, and the contents of files from everything else where they have
 * an origin of their own: there are contents there, and nothing else, and none elsewhere.
 *
 * Before whoever asks is looked for: no credentials are ever looked at on the origin of contents.
 */
export function isolateAnswers(app: App, { contentOrigin }: Pick<Service, 'contentOrigin'>): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(GENERAL_HEADERS);
    if (contentOrigin === undefined) return done();
    const access = request.routeOptions.config.access;
    if (access === 'health') return done();
    if (isFor(contentOrigin, request)) {
      reply.headers(SHARED_HEADERS);
      if (request.method === 'OPTIONS') return void reply.headers(PREFLIGHT_HEADERS).code(204).send();
      if (access !== 'signature') throw new HttpError(404, 'There are only the contents of files here.');
    } else if (access === 'signature') {
      throw new HttpError(
        404,
        'The contents of files are given at CONTENT_ORIGIN alone. If this is its address, the proxy in front does not ' +
          'pass on for which host the request was.',
      );
    }
    done();
  });
}

/**
 * On the origin of contents: whoever has a URL may read it, as any program could, and nothing more is given to a browser
 * that would send credentials.
 */
const SHARED_HEADERS = {
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Last-Modified, Retry-After, X-Request-Id',
} as const;

/** For browsers that ask before they send a range (Fetch, section 2.2.2: newer ones do not). */
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD',
  'access-control-allow-headers': 'Range, If-Match, If-None-Match, If-Modified-Since, If-Range, If-Unmodified-Since',
  'access-control-max-age': '86400',
} as const;

/** By the name alone: what is asked for under it by another port is no page either. */
function isFor(origin: string, { host }: FastifyRequest): boolean {
  return nameOf(new URL(origin).host) === nameOf(host);
}
