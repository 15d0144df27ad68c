import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';

/** The scheme and authority of a request target in absolute form (RFC 9112, section 3.2.2). */
const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/** Returns a request target without its authority, which can contain a password. */
export function withoutAuthority(target: string): string {
  return target.startsWith('/') ? target : target.replace(AUTHORITY, '');
}

/** Route for requests outside the base path. No client can reach it by its own path. */
export const OUTSIDE_ROUTE = '/-/outside-base-path';

/** The original targets of requests to a service with a base path. */
const originalTargets = new WeakMap<IncomingMessage, string>();

/**
 * Returns the target of a request without the base path, so that the router and all routes see only what follows it.
 * Compares exact characters: an encoded, duplicated or differently cased prefix is outside the base path. Returns
 * `OUTSIDE_ROUTE` for a request outside it.
 */
export function removeBasePath(request: IncomingMessage, basePath: string): string {
  const { url = '' } = request;
  // The framework calls this again when it routes a malformed URL to an error.
  if (basePath === '' || originalTargets.has(request)) return url;
  originalTargets.set(request, url);
  const path = withoutAuthority(url);
  const authority = url.slice(0, url.length - path.length);
  return authority + (path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : OUTSIDE_ROUTE);
}

/** Returns the path and query of a request as the client sent them, with the base path. */
export function originalUrl({ raw, url }: Pick<FastifyRequest, 'raw' | 'url'>): string {
  return withoutAuthority(originalTargets.get(raw) ?? url);
}

/** Returns the path of a request as the client sent it. Omits the query, which can contain a signature. */
export function pathOf(request: Pick<FastifyRequest, 'raw' | 'url'>): string {
  return originalUrl(request).split('?')[0] ?? '';
}
