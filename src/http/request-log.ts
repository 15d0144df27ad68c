import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App, Service } from './service.ts';

export const REQUEST_ID = 'x-request-id';

/** The id that a proxy gave the request, if it is one that can stand in a log and a header, or a new one. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers[REQUEST_ID];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** The status in the log of a request whose client left before it was answered, as nginx writes it. */
const CLIENT_LEFT = 499;

/** The status of an answer that has ended, however it did. */
export const statusOf = ({ raw }: FastifyReply): number => (raw.writableFinished ? raw.statusCode : CLIENT_LEFT);

/** What was asked for, without the query, which may hold a signature, and without a host, before which may be a password. */
export const pathOf = ({ url }: Pick<FastifyRequest, 'url'>): string =>
  (url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '')).split('?')[0] ?? '';

/** The levels of a log that has lines of level `info`. */
const INFORMED: readonly string[] = ['info', 'debug', 'trace'];

/** One line for each request, when it has ended, however it ended; the same for the metrics; and its id on every answer. */
export function logRequests(app: App, { metrics }: Pick<Service, 'metrics'>): void {
  const isLogged = INFORMED.includes(app.log.level);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID, request.id);
    if (isLogged || metrics) followRequest(request, reply, { isLogged, metrics });
    done();
  });
}

/** How much of what came over a connection has been counted: the head of a request comes before anybody looks. */
const counted = new WeakMap<Socket, number>();

function followRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { isLogged, metrics }: { isLogged: boolean } & Pick<Service, 'metrics'>,
): void {
  const started = performance.now();
  const { socket } = request;
  const sentBefore = socket.bytesWritten;
  metrics?.requestBegan();
  reply.raw.once('close', () => {
    const { method } = request;
    const route = request.routeOptions.url;
    const status = statusOf(reply);
    const bytes = socket.bytesWritten - sentBefore;
    const milliseconds = performance.now() - started;
    if (metrics) {
      const received = socket.bytesRead - (counted.get(socket) ?? 0);
      counted.set(socket, socket.bytesRead);
      metrics.requestEnded({ method, route, status, seconds: milliseconds / 1000, received, sent: bytes });
    }
    if (!isLogged) return;
    request.log.info(
      {
        method,
        route,
        path: pathOf(request),
        status,
        bytes,
        milliseconds: Math.round(milliseconds * 10) / 10,
      },
      'request',
    );
  });
}
