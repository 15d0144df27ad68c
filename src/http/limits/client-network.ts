import { normalizeIP } from '@fastify/rate-limit';

/**
 * Returns the key of a client in limits: its IPv4 address, or its 64-bit IPv6 network, which is what one customer has
 * (RFC 6177). Some proxies (Azure Application Gateway, IIS) append the client's port. It is ignored, because it differs
 * for each connection.
 */
export function clientNetwork(address: string): string {
  const [, bracketed, ipv4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/.exec(address) ?? [];
  return normalizeIP(bracketed ?? ipv4 ?? address, 64);
}
