import { BlockList, isIPv6, type Socket } from 'node:net';
import { normalizeIP } from '@fastify/rate-limit';
import { throttleLog } from '../../observability/log-throttle.ts';
import type { App } from '../fastify-app.ts';

/** Limits for connections, and the proxies that are exempt from them. */
export interface ConnectionLimits {
  /** Maximum concurrent connections of a process. */
  readonly connections: number;
  /** Maximum concurrent connections of one client. Trusted proxies are exempt. */
  readonly connectionsPerClient: number;
  /** The proxies whose headers about the client are trusted: addresses, networks, or `loopback`; false for none. */
  readonly trustProxy: readonly string[] | false;
}

/** Closes new connections at once if the process or the client has too many, which costs almost nothing. */
export function limitConnections(app: App, limits: ConnectionLimits): void {
  const { connections } = limits;
  const warn = throttleLog((dropped) =>
    app.log.warn({ dropped, connections }, 'Connections closed: MAX_CONNECTIONS is reached.'),
  );
  // Otherwise, workers that are all full would pass a connection around endlessly.
  Object.assign(app.server, { maxConnections: connections, dropMaxConnection: true });
  app.server.on('drop', () => warn());
  if (limits.connectionsPerClient < connections) limitConnectionsPerClient(app, limits);
}

/**
 * Limits the connections of each client: an IPv4 address, or a 64-bit IPv6 network, which is what one customer has. A
 * trusted proxy is exempt, because it serves many clients.
 */
function limitConnectionsPerClient(app: App, { connectionsPerClient, trustProxy }: ConnectionLimits): void {
  const counts = new Map<string, number>();
  const isTrustedProxy = createProxyCheck(trustProxy);
  const warn = throttleLog((dropped, client: string) =>
    app.log.warn(
      { dropped, client, connectionsPerClient },
      'Connections closed: one client has reached its share of MAX_CONNECTIONS. If the client is a proxy, set TRUST_PROXY.',
    ),
  );
  app.server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    // The connection has closed in the meantime.
    if (remoteAddress === undefined) return void socket.destroy();
    if (isTrustedProxy(remoteAddress)) return;
    const client = clientNetwork(remoteAddress);
    const count = counts.get(client) ?? 0;
    if (count >= connectionsPerClient) {
      socket.destroy();
      return warn(client);
    }
    counts.set(client, count + 1);
    socket.once('close', () => {
      const remaining = (counts.get(client) ?? 0) - 1;
      if (remaining > 0) counts.set(client, remaining);
      else counts.delete(client);
    });
  });
}

/** The networks of `loopback`, as Fastify's `trustProxy` defines that name. */
const LOOPBACK_NETWORKS = ['127.0.0.0/8', '::1'];

/** Returns a function that checks whether the address of a connection belongs to a trusted proxy. */
export function createProxyCheck(trustProxy: ConnectionLimits['trustProxy']): (address: string | undefined) => boolean {
  if (trustProxy === false) return () => false;
  const list = new BlockList();
  for (const network of trustProxy.flatMap((entry) => (entry === 'loopback' ? LOOPBACK_NETWORKS : [entry]))) {
    const [address = '', bits] = network.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => address !== undefined && list.check(address, familyOf(address));
}

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');

/**
 * Returns the key of a client in limits: its IPv4 address, or its 64-bit IPv6 network, which is what one customer has
 * (RFC 6177). Translated IPv4 addresses are one client each. Some proxies (Azure Application Gateway, IIS) append the
 * client's port. It is ignored, because it differs for each connection.
 */
export function clientNetwork(address: string): string {
  const [, bracketed, ipv4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/.exec(address) ?? [];
  const host = bracketed ?? ipv4 ?? address;
  const network = normalizeIP(host, 64);
  return network === TRANSLATED_NETWORK ? normalizeIP(host, 128) : network;
}

/**
 * Returns the site of a client: its 48-bit IPv6 network, which providers give to a customer with several networks, and
 * otherwise `clientNetwork`.
 */
export function clientSite(address: string): string {
  const network = clientNetwork(address);
  const isNetwork = isIPv6(network) && !network.startsWith(TRANSLATED_NETWORK);
  return isNetwork ? normalizeIP(network, 48) : network;
}

/** The network in which translators represent all of IPv4 (RFC 6052, section 2.1). */
const TRANSLATED_NETWORK = '64:ff9b::';
