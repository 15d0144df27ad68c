import { escapePath } from '../../platform/service/urls.ts';

/**
 * Returns the WebDAV URL of a folder. `root` is the URL of the service, with a trailing `/`. Apostrophes are escaped, so that the
 * URL can be quoted in a command.
 */
export function davUrl(root: string, folder: string): URL {
  return new URL(`-/dav/${escapePath(folder).replaceAll("'", '%27')}`, root);
}

/** Whether clients can send passwords to this address: it is encrypted, or on this machine. */
export function allowsPasswords({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

/** Returns the address with another scheme, such as `davs` for HTTPS and `dav` for HTTP. */
export function withScheme({ href, protocol }: URL, scheme: 'dav' | 'webdav'): string {
  return `${scheme}${protocol === 'https:' ? 's' : ''}${href.slice(protocol.length - 1)}`;
}

/** Returns the address without its scheme. */
export function withoutScheme({ href, protocol }: URL): string {
  return href.slice(`${protocol}//`.length);
}

export function portOf({ protocol, port }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80');
}

/**
 * Returns the address as the redirector of Windows accepts it: `\\host@SSL@8443\DavWWWRoot\path`. It can't contain the colons of
 * an IPv6 address.
 */
export function uncPath({ protocol, hostname, port, pathname }: URL): string {
  const isIpv6 = hostname.startsWith('[');
  const host = isIpv6 ? `${hostname.slice(1, -1).replaceAll(':', '-')}.ipv6-literal.net` : hostname;
  const server = [host, ...(protocol === 'https:' ? ['SSL'] : []), ...(port === '' ? [] : [port])].join('@');
  const path = decodeURIComponent(pathname).replace(/\/$/, '').replaceAll('/', '\\');
  return `\\\\${server}\\DavWWWRoot${path}`;
}
