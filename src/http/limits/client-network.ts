import { normalizeIP } from '@fastify/rate-limit';

/**
 * Returns the key of a client in limits: its IPv4 address, or its 64-bit IPv6 network, which is what one customer has
 * (RFC 6177). Translated IPv4 addresses are one client each. Some proxies (Azure Application Gateway, IIS) append the
 * client's port. It is ignored, because it differs for each connection.
 */
export function clientNetwork(address: string): string {
  const [, bracketed, ipv4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/.exec(address) ?? [];
  const host = bracketed ?? ipv4 ?? address;
  const network = normalizeIP(host, 64);
  return network === TRANSLATED ? normalizeIP(host, 128) : network;
}

/** The network in which translators represent all of IPv4 (RFC 6052, section 2.1). */
const TRANSLATED = '64:ff9b::';
