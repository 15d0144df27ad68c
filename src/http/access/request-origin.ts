import type { FastifyRequest } from 'fastify';
import { quoted } from '../../model/error.ts';
import { isLoopback } from '../../system.ts';
import { HttpError } from '../errors.ts';

/**
 * Refuses a request that is for another host than the service: a page whose name was made to point here (DNS rebinding)
 * would else be of the service's own origin in the eyes of a browser.
 *
 * This machine's own names always pass. Where only this machine may reach the service (`isLocal`) nothing else does, nor
 * what a proxy passes on; else where some hosts are `known`, nothing but these.
 */
export function requireKnownHost(
  request: FastifyRequest,
  { isLocal, known }: { readonly isLocal: boolean; readonly known: readonly string[] },
): void {
  const name = nameOf(request.host);
  if (isLocal) return requireThisMachine(name, request);
  if (isLoopback(name) || known.length === 0 || known.includes(name)) return;
  throw new HttpError(
    403,
    `The service does not answer for the host ${quoted(request.host)}: its address is another one (PUBLIC_URL).`,
  );
}

/** The name of a host as URLs have it: without its port, in small letters, without the dot of the root. */
export function nameOf(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase().replace(/\.$/, '');
}

function requireThisMachine(name: string, request: FastifyRequest): void {
  const advice = 'For others, set ACCESS_FILE, or ACCESS=open.';
  if (!isLoopback(name)) {
    throw new HttpError(
      403,
      `The service does not answer for the host ${quoted(request.host)}: it can be reached from this machine alone, as localhost. ${advice}`,
    );
  }
  if (!isLoopbackClient(request)) {
    throw new HttpError(
      403,
      `The service can be reached from this machine alone, and a proxy passed this request on. ${advice}`,
    );
  }
}

/**
 * Whether a page of another origin makes a browser send this request: by what the browser says of it
 * (`Sec-Fetch-Site`, Fetch Metadata), or where it says nothing, since it does so on secure addresses only, by `Origin`.
 * Programs send neither. A page of the service's own in a sandbox, which uploaded files are shown in, is foreign too.
 */
export function isCrossSite(
  { headers, host }: Pick<FastifyRequest, 'headers' | 'host'>,
  publicUrl: string | undefined,
) {
  const site = headers['sec-fetch-site'];
  // "none" is a person: an address that was typed, a bookmark.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin } = headers;
  return origin !== undefined && !isOwn(origin, host, publicUrl);
}

/** Whether a browser goes to a page in sight of a person, as by a link: what it gets, the foreign page can't read. */
export function isNavigation({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>): boolean {
  const isReading = method === 'GET' || method === 'HEAD';
  return isReading && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

/** Throws for a request that a foreign site may not have sent: one that changes something, or is not meant for it. */
export function rejectCrossSite(
  request: FastifyRequest,
  { publicUrl, isPrivate }: { readonly publicUrl: string | undefined; readonly isPrivate: boolean },
): void {
  if (!isCrossSite(request, publicUrl) || isNavigation(request)) return;
  const isReading = request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS';
  if (isReading && !isPrivate) return;
  throw new HttpError(
    403,
    'This request was sent by a page of another site, which may not use the service in your name. ' +
      'If it is the page of the service, behind a proxy: set PUBLIC_URL to its address.',
  );
}

/**
 * Where the address of the service is known, it is that, or this machine by itself. Else it is the host of the request: a
 * proxy that ends TLS makes `https` of what is `http` here, so that the scheme says nothing.
 */
function isOwn(origin: string, host: string, publicUrl: string | undefined): boolean {
  const parsed = URL.parse(origin);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return false;
  const isForHost = URL.parse(`${parsed.protocol}//${host}`)?.host === parsed.host;
  if (publicUrl === undefined) return isForHost;
  return parsed.origin === new URL(publicUrl).origin || (isForHost && isLoopback(parsed.hostname));
}

/** Whether the request comes from a program on this machine, and was not passed on for somebody elsewhere. */
export function isLoopbackClient(request: FastifyRequest): boolean {
  const { remoteAddress } = request.socket;
  // Of a connection that is gone already there is no address, nor an `ip`.
  return remoteAddress !== undefined && isLoopback(remoteAddress) && isLoopback(request.ip) && !isPassedOn(request);
}

/** Whether a proxy says that it passes the request on which is not in TRUST_PROXY: of others, `ip` is right already. */
function isPassedOn({ headers, ips }: FastifyRequest): boolean {
  return ips === undefined && PASSED_ON.some((name) => headers[name] !== undefined);
}

const PASSED_ON = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'] as const;
