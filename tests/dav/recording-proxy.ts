import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { atEnd, type Owner } from '../../testing/holdall.ts';

/** A request that can change something. Paths are decoded and without their leading slash. */
export interface Change {
  readonly method: string;
  readonly path: string;
  readonly destination: string | undefined;
  readonly body: Buffer;
  /** The status of the response; undefined if none arrived. */
  readonly status: number | undefined;
}

/** A reverse proxy that records changes, and can interrupt one. */
export interface RecordingProxy {
  readonly port: number;
  /** The changes whose response arrived or whose connection broke, in this order. */
  readonly changes: readonly Change[];
  /** Forwards requests to this port, also those that have waited for one. With undefined, requests wait. */
  forwardTo(port: number | undefined): void;
  /** The number of requests that were forwarded and have no response yet. */
  pending(): number;
  /**
   * Calls back at the next request of this method, instead of waiting for its response: after half of its body, or after the
   * whole request if it has no body.
   */
  interrupt(method: string, callback: () => Promise<void>): void;
}

/** Starts a proxy on a free port of 127.0.0.1. It ends with its owner. */
export async function startRecordingProxy(owner: Owner): Promise<RecordingProxy> {
  const changes: Change[] = [];
  let target = Promise.withResolvers<number>();
  let pending = 0;
  let interruption: { readonly method: string; callback(): Promise<void> } | undefined;

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = incoming;
    const body = await buffer(incoming);
    const port = await target.promise;
    const forwarded = request({ host: '127.0.0.1', port, method, path: url, headers, agent: false });
    const record = (status: number | undefined) => {
      if (READING.has(method)) return;
      const { destination } = headers;
      const moved = typeof destination === 'string' ? pathOf(new URL(destination).pathname) : undefined;
      changes.push({ method, path: pathOf(url), destination: moved, body, status });
    };
    // Requests with credentials only: the others are rejected.
    if (interruption?.method === method && headers.authorization !== undefined) {
      const { callback } = interruption;
      interruption = undefined;
      forwarded.on('error', () => {});
      if (body.length > 0) forwarded.write(body.subarray(0, body.length / 2));
      else forwarded.end();
      await once(forwarded, 'socket');
      record(undefined);
      await callback();
      response.destroy();
      return;
    }
    forwarded.end(body);
    pending++;
    try {
      const [received]: IncomingMessage[] = await once(forwarded, 'response');
      if (received === undefined) throw new Error('There is no response.');
      const content = await buffer(received);
      record(received.statusCode);
      const { 'transfer-encoding': _, ...kept } = received.headers;
      response.writeHead(received.statusCode ?? 0, kept).end(content);
    } catch {
      record(undefined);
      response.destroy();
    } finally {
      pending--;
    }
  };

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(owner, async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  return {
    port: (server.address() as AddressInfo).port,
    changes,
    pending: () => pending,
    forwardTo(port) {
      if (port === undefined) target = Promise.withResolvers();
      else target.resolve(port);
    },
    interrupt(method, callback) {
      interruption = { method, callback };
    },
  };
}

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PROPFIND']);

const pathOf = (url: string) => decodeURIComponent(url).replace(/^\//, '');
