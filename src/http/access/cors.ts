import type { FastifyRequest } from 'fastify';
import type { App } from '../fastify-app.ts';
import { hostNameOf } from './request-origin.ts';

/** The origins whose pages may call the service from browsers: every origin, or exact ones. */
export type CorsOrigins = '*' | ReadonlySet<string>;

/**
 * Returns whether a page of `corsOrigins` sent the request by a CORS request. Form submissions don't count. A page
 * can't forge these headers (Fetch, section 2.2.2). The opaque origin "null" of sandboxed pages is never contained.
 */
export function isCorsOrigin(corsOrigins: CorsOrigins | undefined, { headers }: Pick<FastifyRequest, 'headers'>) {
  const { origin } = headers;
  if (corsOrigins === undefined || origin === undefined || origin === 'null') return false;
  const mode = headers['sec-fetch-mode'];
  if (mode !== undefined && mode !== 'cors') return false;
  return corsOrigins === '*' || corsOrigins.has(origin);
}

/**
 * Lets pages of `corsOrigins` read responses, and responds to their preflight requests (Fetch, section 3.3). Only exact
 * origins can send cookies. Runs before limits and authentication, so that pages can also read refusals. The content
 * origin has its own headers.
 */
export function allowCors(
  app: App,
  { corsOrigins, contentOrigin }: { corsOrigins: CorsOrigins | undefined; contentOrigin: string | undefined },
): void {
  if (corsOrigins === undefined) return;
  const contentHost = contentOrigin === undefined ? undefined : hostNameOf(new URL(contentOrigin).host);
  const isForContent = ({ host }: FastifyRequest) => contentHost !== undefined && hostNameOf(host) === contentHost;

  app.addHook('onRequest', (request, reply, done) => {
    if (!isCorsOrigin(corsOrigins, request) || isForContent(request)) return done();
    reply.header('access-control-allow-origin', corsOrigins === '*' ? '*' : request.headers.origin);
    if (corsOrigins !== '*') reply.header('access-control-allow-credentials', 'true');
    const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    if (isPreflight) return void reply.headers(PREFLIGHT_HEADERS).code(204).send();
    reply.header('access-control-expose-headers', EXPOSED_HEADERS);
    done();
  });
  // Also for "*": a response to a request without Origin has no CORS headers. Routes set their own Vary later.
  app.addHook('onSend', (_request, reply, _payload, done) => {
    const vary = reply.getHeader('vary');
    reply.header('vary', vary === undefined ? 'Origin' : `${String(vary)}, Origin`);
    done();
  });
}

/** The response headers that pages can read, in addition to those that the Fetch standard exposes. */
const EXPOSED_HEADERS = [
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Length',
  'Content-Location',
  'Content-Range',
  'ETag',
  'Last-Modified',
  'Location',
  'Preference-Applied',
  'Retry-After',
  'Tus-Checksum-Algorithm',
  'Tus-Extension',
  'Tus-Max-Size',
  'Tus-Resumable',
  'Tus-Version',
  'Upload-Complete',
  'Upload-Defer-Length',
  'Upload-Expires',
  'Upload-Length',
  'Upload-Limit',
  'Upload-Metadata',
  'Upload-Offset',
  'Upload-Parts',
  'WWW-Authenticate',
  'X-Change-ID',
  'X-OC-Mtime',
  'X-Request-Id',
  'X-Store-Quota',
].join(', ');

const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': [
    'Accept',
    'Authorization',
    'Content-Digest',
    'Content-Type',
    'If-Match',
    'If-Modified-Since',
    'If-None-Match',
    'If-Range',
    'If-Unmodified-Since',
    'Prefer',
    'Range',
    'Repr-Digest',
    'Traceparent',
    'Tracestate',
    'Tus-Resumable',
    'Upload-Checksum',
    'Upload-Complete',
    'Upload-Defer-Length',
    'Upload-Draft-Interop-Version',
    'Upload-Length',
    'Upload-Metadata',
    'Upload-Offset',
    'X-HTTP-Method-Override',
    'X-OC-Mtime',
  ].join(', '),
  // Short, so that browsers soon notice a changed setting.
  'access-control-max-age': '600',
} as const;
