import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Limits } from './limits/limits.ts';
import { trustedPeers } from './limits/trusted-peers.ts';
import { countRefused } from './refused-requests.ts';
import type { App, Service } from './service.ts';

export const REQUEST_ID = 'x-request-id';

/** Gives each request its id. */
export type RequestIds = (request: IncomingMessage) => string;

/**
 * The id of a request is the one that a proxy in `TRUST_PROXY` sent, if it is safe in a log and a header; otherwise a new
 * one. Other clients could give many requests one id, or that of another request.
 */
export function createRequestIds({ trustProxy }: Pick<Limits, 'trustProxy'>): RequestIds {
  const isTrusted = trustedPeers(trustProxy);
  return ({ headers, socket }) => {
    const given = headers[REQUEST_ID];
    const isUsable = typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given);
    return isUsable && socket.remoteAddress !== undefined && isTrusted(socket.remoteAddress) ? given : randomUUID();
  };
}

/** The status in the log of a request whose client left before it was answered, as nginx writes it. */
const CLIENT_LEFT = 499;

/** The status of an answer that has ended, however it did. */
export const statusOf = ({ raw }: FastifyReply): number => (raw.writableFinished ? raw.statusCode : CLIENT_LEFT);

/** The path of a request, without the query, which may hold a signature, and the host, which may hold a password. */
export const pathOf = ({ url }: Pick<FastifyRequest, 'url'>): string =>
  (url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '')).split('?')[0] ?? '';

/** Characters of a path in a line of the log: all of any path that exists, unless most of it is percent-encoded. */
const MAX_LOGGED_PATH = 1024;

/** A text that a client chose, as it stands in the log: cut, with the length that it had. */
const shortened = (text: string): string =>
  text.length > MAX_LOGGED_PATH ? `${text.slice(0, MAX_LOGGED_PATH)}… (cut off: ${text.length} characters)` : text;

/** The levels of a log that has lines of level `info`. */
const INFORMED: readonly string[] = ['info', 'debug', 'trace'];

/**
 * Logs one line for each request when it has ended, however it ended, and counts it in the metrics. Requests that are
 * refused with 429 have lines together. Every response carries the id of its request.
 */
export function logRequests(app: App, { metrics }: Pick<Service, 'metrics'>): void {
  const isLogged = INFORMED.includes(app.log.level);
  const refused = countRefused(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID, request.id);
    if (isLogged || metrics) followRequest(request, reply, { isLogged, metrics, refused });
    done();
  });
}

/** How much of what came over a connection has been counted: the head of a request comes before anybody looks. */
const counted = new WeakMap<Socket, number>();

function followRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { isLogged, metrics, refused }: { isLogged: boolean; refused: (client: string) => void } & Pick<Service, 'metrics'>,
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
    if (status === 429) return refused(request.ip);
    request.log.info(
      {
        method,
        route,
        path: shortened(pathOf(request)),
        status,
        bytes,
        milliseconds: Math.round(milliseconds * 10) / 10,
      },
      'request',
    );
  });
}
