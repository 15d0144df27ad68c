import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';

/** Clients that each start a request, send its headers one byte at a time, and never close their side. */
export interface SlowClients {
  /** Returns the number of connections that the service has not closed. */
  open(): number;
  /** Returns the statuses of the responses. */
  statuses(): string[];
}

/** Milliseconds between two bytes of each client. */
const BYTE_INTERVAL_MS = 1000;

export async function connectSlowClients(t: TestContext, port: number, count: number): Promise<SlowClients> {
  const sockets = new Set<Socket>();
  const statuses = new Set<string>();
  const timer = setInterval(() => {
    for (const socket of sockets) socket.write('x');
  }, BYTE_INTERVAL_MS);
  atEnd(t, () => {
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
  });
  const connectClient = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
        socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX: ');
        sockets.add(socket);
        resolve();
      });
      socket.once('data', (bytes: Buffer) => void statuses.add(bytes.toString('latin1', 9, 12)));
      socket.once('end', () => sockets.delete(socket));
      // A byte that arrives after the close resets the connection, which can lose the response.
      socket.on('error', reject).once('close', () => sockets.delete(socket));
    });
  for (let connected = 0; connected < count; connected += CONNECT_BATCH)
    await Promise.all(Array.from({ length: Math.min(CONNECT_BATCH, count - connected) }, connectClient));
  return { open: () => sockets.size, statuses: () => [...statuses] };
}

/** Parallel connection attempts: fewer than the backlog of a listening socket. */
const CONNECT_BATCH = 250;
