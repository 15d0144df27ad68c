import { normalizeIP } from '@fastify/rate-limit';

/**
 * Returns what identifies a client in limits: its IPv4 address, or its 64-bit IPv6 network, which is what one customer has
 * (RFC 6177). Some proxies (Azure Application Gateway, IIS) give the port of the client as well, which is ignored: each
 * connection has another one.
 */
export function clientNetwork(address: string): string {
  const [, bracketed, ipv4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/.exec(address) ?? [];
  return normalizeIP(bracketed ?? ipv4 ?? address, 64);
}
