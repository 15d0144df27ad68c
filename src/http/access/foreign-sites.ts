import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../../domain/loopback.ts';
import { HttpError } from '../errors.ts';

/**
 * Whether a page of another origin makes a browser send this request: by what the browser says of it
 * (`Sec-Fetch-Site`, Fetch Metadata), or where it says nothing, since it does so on secure addresses only, by `Origin`.
 * Programs send neither. A page of the service's own in a sandbox, which uploaded files are shown in, is foreign too.
 */
export function isOfForeignSite(
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
export function refuseForeignSite(
  request: FastifyRequest,
  { publicUrl, isPrivate }: { readonly publicUrl: string | undefined; readonly isPrivate: boolean },
): void {
  if (!isOfForeignSite(request, publicUrl) || isNavigation(request)) return;
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
