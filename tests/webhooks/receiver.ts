import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

/** A message, as an endpoint receives it. */
export interface Received {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly message: {
    readonly type: string;
    readonly timestamp: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
  readonly response: ServerResponse;
}

/** A real endpoint of a webhook. */
export interface Receiver {
  readonly url: string;
  readonly port: number;
  /** All messages so far. */
  readonly received: Received[];
  /** Responds to each message; 204 by default. */
  respond: (received: Received) => void;
  /** The paths of the changes so far. */
  paths(): unknown[];
  /** Throws unless the signature is valid. */
  verify(received: Received, secret: string): void;
  stop(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const headers = request.headers as Record<string, string>;
    const id = headers['webhook-id'] ?? '';
    const found: Received = { id, headers, body, message: JSON.parse(body) as Received['message'], response };
    receiver.received.push(found);
    receiver.respond(found);
  };
  const server = createServer((request, response) => void receive(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received: [],
    respond: ({ response }) => void response.writeHead(204).end(),
    paths: () => receiver.received.map(({ message }) => message.data['path']),
    verify: ({ body, headers }, secret) => void new Webhook(secret).verify(body, headers),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}
