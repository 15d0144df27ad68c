import type { FastifyRequest } from 'fastify';
import { quoted } from '../../model/error.ts';
import { isLoopback } from '../../system.ts';
import { HttpError } from '../errors.ts';

/**
 * Throws 403 for a request whose Host header names another host than the service. This prevents DNS rebinding: a page
 * under an attacker's name that resolves to this service would be same-origin to a browser.
 *
 * With `isLocal`, only requests from this machine to a loopback name pass, and none through a proxy. Otherwise,
 * loopback names and `knownHosts` pass. If `knownHosts` is empty, every host passes.
 */
export function requireKnownHost(
  request: FastifyRequest,
  { isLocal, knownHosts }: { readonly isLocal: boolean; readonly knownHosts: readonly string[] },
): void {
  const name = hostNameOf(request.host);
  if (isLocal) return requireLoopback(name, request);
  if (isLoopback(name) || knownHosts.length === 0 || knownHosts.includes(name)) return;
  throw new HttpError('unknown-host', `The host ${quoted(request.host)} is not the host of PUBLIC_URL.`);
}

/** Returns the host name without port and trailing dot, in lower case. */
export function hostNameOf(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase().replace(/\.$/, '');
}

function requireLoopback(name: string, request: FastifyRequest): void {
  const advice = 'To serve other clients, set ACCESS_FILE or ACCESS=open.';
  if (!isLoopback(name)) {
    throw new HttpError(
      'loopback-only',
      `The host ${quoted(request.host)} is not allowed. Without access control, the service only accepts requests to localhost. ${advice}`,
    );
  }
  if (!isLoopbackClient(request)) {
    throw new HttpError(
      'loopback-only',
      `The request came through a proxy. Without access control, the service only accepts requests from this machine. ${advice}`,
    );
  }
}

/**
 * Returns whether a page of another origin made the browser send this request. Uses `Sec-Fetch-Site` (Fetch Metadata).
 * Browsers send that only to secure origins, so `Origin` decides if it is missing.
 * Programs send neither header. A sandboxed page of the service, which shows an uploaded file, counts as another
 * origin.
 */
export function isCrossSite(
  { headers, host }: Pick<FastifyRequest, 'headers' | 'host'>,
  publicUrl: string | undefined,
) {
  const site = headers['sec-fetch-site'];
  // "none" means that the user started the request, with a typed URL or a bookmark.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin } = headers;
  return origin !== undefined && !isOwnOrigin(origin, host, publicUrl);
}

/**
 * Returns whether the request is a top-level navigation, such as a click on a link. A page of another origin can't read
 * the response.
 */
export function isNavigation({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>): boolean {
  const isReading = method === 'GET' || method === 'HEAD';
  return isReading && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

/** Throws 403 for a cross-site request that changes something or reads private data. Navigations pass. */
export function rejectCrossSite(
  request: FastifyRequest,
  { publicUrl, isPrivate }: { readonly publicUrl: string | undefined; readonly isPrivate: boolean },
): void {
  if (!isCrossSite(request, publicUrl) || isNavigation(request)) return;
  const isReading = request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS';
  if (isReading && !isPrivate) return;
  throw new HttpError(
    'cross-site-request',
    'Cross-site request blocked. A page of another origin sent it. ' +
      'If that page is the web UI behind a reverse proxy, set PUBLIC_URL to its URL.',
  );
}

/**
 * Returns whether `origin` is the service's own. With a public URL, that URL's origin and loopback are.
 * Without one, the host of the request is. The scheme is then ignored, because a reverse proxy that terminates TLS
 * turns `https` into `http`.
 */
function isOwnOrigin(origin: string, host: string, publicUrl: string | undefined): boolean {
  const parsed = URL.parse(origin);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return false;
  const isForHost = URL.parse(`${parsed.protocol}//${host}`)?.host === parsed.host;
  if (publicUrl === undefined) return isForHost;
  return parsed.origin === new URL(publicUrl).origin || (isForHost && isLoopback(parsed.hostname));
}

/** Returns whether the request comes from a program on this machine, and not through a proxy. */
export function isLoopbackClient(request: FastifyRequest): boolean {
  const { remoteAddress } = request.socket;
  // A closed connection has no address and no `ip`.
  return remoteAddress !== undefined && isLoopback(remoteAddress) && isLoopback(request.ip) && !isForwarded(request);
}

/**
 * Returns whether headers show that a proxy forwarded the request, if TRUST_PROXY is not set. With TRUST_PROXY,
 * `request.ip` is already the client's address.
 */
function isForwarded({ headers, ips }: FastifyRequest): boolean {
  return ips === undefined && PROXY_HEADERS.some((name) => headers[name] !== undefined);
}

const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'] as const;
