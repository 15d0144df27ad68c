import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type CollectedSpan, readSpans } from './otlp.ts';

/** How a collector responds: it accepts requests, or responds with 500. */
export type Behaviour = 'takes' | 'fails';

/** A collector of traces, limited to OTLP over HTTP. */
export interface Collector {
  readonly url: string;
  /** The accepted spans, in the order of their arrival. */
  readonly spans: readonly CollectedSpan[];
  /** All requests, with any outcome. */
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: Buffer }[];
  stop(): Promise<void>;
}

export async function startCollector(behaviour: Behaviour = 'takes'): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const requests: Collector['requests'][number][] = [];
  const respond = (body: Buffer, response: ServerResponse) => {
    if (behaviour === 'fails') return void response.writeHead(500).end('It is broken.');
    spans.push(...readSpans(body));
    // An ExportTraceServiceResponse without fields.
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  };
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request);
    requests.push({ path: request.url ?? '', headers: request.headers, body });
    respond(body, response);
  };
  // The sender can disconnect before the end of its request.
  const server = createServer((request, response) => void take(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return collector;
}
