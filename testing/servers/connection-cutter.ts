import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { atEnd, type Owner } from '../holdall.ts';
import { until } from '../until.ts';

/** A TCP relay between clients and a server, which cuts connections like an unreliable network. */
export interface ConnectionCutter {
  readonly port: number;
  /** Cuts all connections by a reset, and returns their number. */
  cut(): number;
  /**
   * Resets the connections of all clients once they have sent this number of further bytes, which the server still
   * receives. A reset loses the bytes that the server has not read: with `isReady`, it waits until that returns true.
   */
  cutAfter(bytes: number, isReady?: () => Promise<boolean>): void;
}

/** Starts a relay on a free port of 127.0.0.1 to a port of this machine. It ends with its owner. */
export async function startConnectionCutter(owner: Owner, port: number): Promise<ConnectionCutter> {
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  let remaining = Number.POSITIVE_INFINITY;
  let untilReady = async (): Promise<unknown> => undefined;
  const track = (socket: Socket, other: Socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      clients.delete(socket);
      // After all bytes that have arrived.
      other.end();
    });
    socket.on('error', () => {});
  };
  const relay = createServer({ noDelay: true }, (client) => {
    const server = connect({ host: '127.0.0.1', port, noDelay: true });
    clients.add(client);
    track(client, server);
    track(server, client);
    client.on('data', (bytes) => {
      if (!server.write(bytes)) client.pause();
      remaining -= bytes.length;
      if (remaining > 0) return;
      remaining = Number.POSITIVE_INFINITY;
      server.off('drain', resume);
      client.pause();
      void cutWhenReady();
    });
    const cutWhenReady = async () => {
      await untilReady();
      for (const socket of clients) reset(socket);
    };
    const resume = () => void client.resume();
    server.on('drain', resume);
    server.pipe(client);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const cut = () => {
    const { size } = clients;
    for (const socket of sockets) reset(socket);
    return size;
  };
  atEnd(owner, async () => {
    relay.close();
    cut();
    await once(relay, 'close');
  });
  const cutAfter = (bytes: number, isReady: () => Promise<boolean> = async () => true) => {
    remaining = bytes;
    untilReady = () => until('the connections can be cut', isReady);
  };
  return { port: (relay.address() as AddressInfo).port, cut, cutAfter };
}

/**
 * Closes a connection by a reset. Node.js 26 can't reset a socket that is sending its end: the handle then never closes, and the
 * process never exits.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
