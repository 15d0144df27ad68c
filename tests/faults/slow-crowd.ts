import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';

/** Clients that each begin a request and send a byte of its head now and then, and never close their side. */
export interface Crowd {
  /** How many of their connections the service has not ended. */
  open(): number;
  /** The statuses that they were answered with. */
  statuses(): string[];
}

/** Milliseconds between two bytes of all of them. */
const DRIP = 1000;

export async function slowCrowd(t: TestContext, port: number, count: number): Promise<Crowd> {
  const sockets = new Set<Socket>();
  const statuses = new Set<string>();
  const drip = setInterval(() => {
    for (const socket of sockets) socket.write('x');
  }, DRIP);
  atEnd(t, () => {
    clearInterval(drip);
    for (const socket of sockets) socket.destroy();
  });
  const joinIn = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
        socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX: ');
        sockets.add(socket);
        resolve();
      });
      socket.once('data', (bytes: Buffer) => void statuses.add(bytes.toString('latin1', 9, 12)));
      socket.once('end', () => sockets.delete(socket));
      // A byte that is sent across the end of the connection resets it, and the answer may be lost by that.
      socket.on('error', reject).once('close', () => sockets.delete(socket));
    });
  for (let joined = 0; joined < count; joined += BATCH)
    await Promise.all(Array.from({ length: Math.min(BATCH, count - joined) }, joinIn));
  return { open: () => sockets.size, statuses: () => [...statuses] };
}

/** Connections that are made at once: fewer than the system keeps for a service that has not taken them yet. */
const BATCH = 250;
