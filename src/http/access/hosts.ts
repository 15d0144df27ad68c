import { quoted } from '../../domain/error.ts';
import { HttpError } from '../errors.ts';

/**
 * Refuses a request that is for another host than the service: a page whose name was made to point here (DNS rebinding)
 * would else be of the service's own origin in the eyes of a browser.
 *
 * `host` is that of the request, with its port or without. This machine's own names always pass. Where only this
 * machine may reach the service nothing else does; with `known`, nothing but these.
 */
export function requireKnownHost(
  host: string,
  { isLocal, known }: { readonly isLocal: boolean; readonly known: readonly string[] },
): void {
  const name = nameOf(host);
  if (LOOPBACK.test(name)) return;
  if (!isLocal && (known.length === 0 || known.includes(name))) return;
  const advice = isLocal
    ? 'it can be reached from this machine alone, as localhost. For others, set ACCESS_FILE, or ACCESS=open.'
    : `its address is another one (PUBLIC_URL).`;
  throw new HttpError(403, `The service does not answer for the host ${quoted(host)}: ${advice}`);
}

/** The name of a host as URLs have it: without its port, in small letters, without the dot of the root. */
export function nameOf(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase().replace(/\.$/, '');
}

/** The names of this machine for itself, which no other can be given: RFC 6761, section 6.3, and the addresses. */
const LOOPBACK = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
