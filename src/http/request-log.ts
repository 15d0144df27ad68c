import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from './service.ts';

export const REQUEST_ID = 'x-request-id';

/** The id that a proxy gave the request, if it is one that can stand in a log and a header, or a new one. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers[REQUEST_ID];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** The status in the log of a request whose client left before it was answered, as nginx writes it. */
const CLIENT_LEFT = 499;

/** The levels of a log that has lines of level `info`. */
const INFORMED: readonly string[] = ['info', 'debug', 'trace'];

/** One line for each request, when it has ended, however it ended; and its id on every answer. */
export function logRequests(app: App): void {
  const isLogged = INFORMED.includes(app.log.level);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID, request.id);
    if (isLogged) followRequest(request, reply);
    done();
  });
}

function followRequest(request: FastifyRequest, reply: FastifyReply): void {
  const started = performance.now();
  const { socket } = request;
  const sentBefore = socket.bytesWritten;
  reply.raw.once('close', () => {
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url,
        // Without the query, which may hold a signature.
        path: request.url.split('?')[0],
        status: reply.raw.writableFinished ? reply.raw.statusCode : CLIENT_LEFT,
        bytes: socket.bytesWritten - sentBefore,
        milliseconds: Math.round((performance.now() - started) * 10) / 10,
      },
      'request',
    );
  });
}
