import type { FastifyRequest } from 'fastify';
import { quoted } from '../../model/error.ts';
import { isLoopback } from '../../system.ts';
import { HttpError } from '../errors.ts';

/**
 * Throws 403 for a request whose Host header names another host than the service. This prevents DNS rebinding: a page
 * under an attacker's name that resolves to this service would be same-origin to a browser.
 *
 * With `isLocal`, only requests from this machine to a loopback name pass, and none through a proxy. Otherwise,
 * loopback names and the `known` hosts pass. If `known` is empty, every host passes.
 */
export function requireKnownHost(
  request: FastifyRequest,
  { isLocal, known }: { readonly isLocal: boolean; readonly known: readonly string[] },
): void {
  const name = nameOf(request.host);
  if (isLocal) return requireThisMachine(name, request);
  if (isLoopback(name) || known.length === 0 || known.includes(name)) return;
  throw new HttpError(
    'unknown-host',
    `The service does not answer for the host ${quoted(request.host)}: its address is another one (PUBLIC_URL).`,
  );
}

/** Returns the host name without port and trailing dot, in lower case. */
export function nameOf(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase().replace(/\.$/, '');
}

function requireThisMachine(name: string, request: FastifyRequest): void {
  const advice = 'For others, set ACCESS_FILE, or ACCESS=open.';
  if (!isLoopback(name)) {
    throw new HttpError(
      'loopback-only',
      `The service does not answer for the host ${quoted(request.host)}: it can be reached from this machine alone, as localhost. ${advice}`,
    );
  }
  if (!isLoopbackClient(request)) {
    throw new HttpError(
      'loopback-only',
      `The service can be reached from this machine alone, and a proxy passed this request on. ${advice}`,
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
  return origin !== undefined && !isOwn(origin, host, publicUrl);
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
    'This request was sent by a page of another site, which may not use the service in your name. ' +
      'If it is the page of the service, behind a proxy: set PUBLIC_URL to its address.',
  );
}

/**
 * Returns whether `origin` is the service's own. With a public URL, that URL's origin and loopback are.
 * Without one, the host of the request is. The scheme is then ignored, because a reverse proxy that terminates TLS
 * turns `https` into `http`.
 */
function isOwn(origin: string, host: string, publicUrl: string | undefined): boolean {
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
  return remoteAddress !== undefined && isLoopback(remoteAddress) && isLoopback(request.ip) && !isPassedOn(request);
}

/**
 * Returns whether headers show that a proxy forwarded the request, if TRUST_PROXY is not set. With TRUST_PROXY,
 * `request.ip` is already the client's address.
 */
function isPassedOn({ headers, ips }: FastifyRequest): boolean {
  return ips === undefined && PASSED_ON.some((name) => headers[name] !== undefined);
}

const PASSED_ON = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'] as const;
