import type { FastifyRequest } from 'fastify';
import { quoted } from '../../domain/error.ts';
import { isLoopback } from '../../domain/loopback.ts';
import { HttpError } from '../errors.ts';
import { isOfThisMachine } from './this-machine.ts';

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
  if (!isOfThisMachine(request)) {
    throw new HttpError(
      403,
      `The service can be reached from this machine alone, and a proxy passed this request on. ${advice}`,
    );
  }
}
