import type { Socket } from 'node:net';
import type { App } from '../service.ts';
import { clientNetwork } from './client-network.ts';
import type { Limits } from './limits.ts';
import { tellSeldom } from './tell-seldom.ts';
import { trustedPeers } from './trusted-peers.ts';

type ConnectionLimits = Pick<Limits, 'connections' | 'connectionsPerClient' | 'trustProxy'>;

/** Closes new connections at once if the process or the client has too many, which costs almost nothing. */
export function limitConnections(app: App, limits: ConnectionLimits): void {
  const { connections } = limits;
  const warn = tellSeldom((dropped) =>
    app.log.warn({ dropped, connections }, 'Connections are closed, as there are as many as MAX_CONNECTIONS allows.'),
  );
  // Otherwise, workers that are all full would pass a connection around endlessly.
  Object.assign(app.server, { maxConnections: connections, dropMaxConnection: true });
  app.server.on('drop', () => warn());
  if (limits.connectionsPerClient < connections) limitClients(app, limits);
}

/**
 * Limits the connections of each client: an IPv4 address, or a 64-bit IPv6 network, which is what one customer has. A
 * trusted proxy is exempt, because it serves many clients.
 */
function limitClients(app: App, { connectionsPerClient, trustProxy }: ConnectionLimits): void {
  const counts = new Map<string, number>();
  const isTrusted = trustedPeers(trustProxy);
  const warn = tellSeldom((dropped, client: string) =>
    app.log.warn(
      { dropped, client, connectionsPerClient },
      'Connections are closed, as their client has its share of MAX_CONNECTIONS. If it is a proxy, set TRUST_PROXY.',
    ),
  );
  app.server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    // The connection has closed in the meantime.
    if (remoteAddress === undefined) return void socket.destroy();
    if (isTrusted(remoteAddress)) return;
    const client = clientNetwork(remoteAddress);
    const count = counts.get(client) ?? 0;
    if (count >= connectionsPerClient) {
      socket.destroy();
      return warn(client);
    }
    counts.set(client, count + 1);
    socket.once('close', () => {
      const left = (counts.get(client) ?? 0) - 1;
      if (left > 0) counts.set(client, left);
      else counts.delete(client);
    });
  });
}
