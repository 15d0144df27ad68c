import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { REQUEST_MESSAGE } from '../observability/log.ts';
import { runInRequest, type TracedRequest } from '../observability/tracer.ts';
import './access/request-access.ts';
import type { App } from './fastify-app.ts';
import { createProxyCheck } from './limits/connections.ts';
import type { Limits } from './limits/limits.ts';
import { linkIdOf, pathOf } from './request-url.ts';
import type { Service } from './service.ts';

export const REQUEST_ID = 'x-request-id';

/** Returns the id of a request. */
export type RequestIds = (request: IncomingMessage) => string;

/**
 * Returns the function that gives a request its id: the id that a proxy in `TRUST_PROXY` sent, if it is safe in a log
 * and a header; otherwise a new one. Other clients could reuse one id for many requests, or copy the id of another
 * request.
 */
export function createRequestIds({ trustProxy }: Pick<Limits, 'trustProxy'>): RequestIds {
  const isTrustedProxy = createProxyCheck(trustProxy);
  return ({ headers, socket }) => {
    const received = headers[REQUEST_ID];
    const isSafe = typeof received === 'string' && /^[\w.:-]{1,128}$/.test(received);
    return isSafe && isTrustedProxy(socket.remoteAddress) ? received : randomUUID();
  };
}

/** The logged status of a request whose client disconnected before the response, as in nginx. */
const CLIENT_CLOSED_REQUEST = 499;

/** Returns the status of a response that has ended. */
export const statusOf = ({ raw }: FastifyReply): number =>
  raw.writableFinished ? raw.statusCode : CLIENT_CLOSED_REQUEST;

/** Maximum length of a logged path in characters. Fits every existing path, unless most of it is percent-encoded. */
const MAX_LOGGED_PATH = 1024;

/** Returns a client's text for the log, truncated with its original length. */
const truncate = (text: string): string =>
  text.length > MAX_LOGGED_PATH
    ? `${text.slice(0, MAX_LOGGED_PATH)}… (truncated from ${text.length} characters)`
    : text;

/** The log levels that include level `info`. */
const INFO_LEVELS: readonly string[] = ['info', 'debug', 'trace'];

/**
 * Logs one line for each request when it has ended, and counts it in the metrics. Requests that are refused with 429
 * share log lines. Every response carries the id of its request.
 */
export function logRequests(app: App, { metrics }: Pick<Service, 'metrics'>): void {
  const isLogged = INFO_LEVELS.includes(app.log.level);
  const countRejection = createRejectionLog(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID, request.id);
    if (isLogged || metrics) observeRequest(request, reply, { isLogged, metrics, countRejection });
    done();
  });
}

/** Bytes already counted per connection. The headers of a request arrive before any hook runs. */
const bytesReadBefore = new WeakMap<Socket, number>();

function observeRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    isLogged,
    metrics,
    countRejection,
  }: { isLogged: boolean; countRejection: (client: string) => void } & Pick<Service, 'metrics'>,
): void {
  const started = performance.now();
  const { socket } = request;
  const bytesWrittenBefore = socket.bytesWritten;
  metrics?.requestStarted();
  reply.raw.once('close', () => {
    const { method } = request;
    const route = request.routeOptions.url;
    const status = statusOf(reply);
    const bytes = socket.bytesWritten - bytesWrittenBefore;
    const milliseconds = performance.now() - started;
    if (metrics) {
      const received = socket.bytesRead - (bytesReadBefore.get(socket) ?? 0);
      bytesReadBefore.set(socket, socket.bytesRead);
      metrics.requestCompleted({ method, route, status, seconds: milliseconds / 1000, received, sent: bytes });
    }
    if (!isLogged) return;
    if (status === 429) return countRejection(request.ip);
    request.log.info(
      {
        method,
        route,
        path: truncate(pathOf(request)),
        link: linkIdOf(request),
        status,
        bytes,
        milliseconds: Math.round(milliseconds * 10) / 10,
      },
      REQUEST_MESSAGE,
    );
  });
}

/** The log levels that include lines for store calls, which name the request that caused them. */
const DEBUG_LEVELS: readonly string[] = ['debug', 'trace'];

/**
 * Makes a request available to the code that runs for it (`currentRequest`). With tracing, its span lasts from its
 * headers to the end of its response. Health checks are not traced. A `traceparent` counts only if a proxy in
 * `TRUST_PROXY` sent it. Other clients could otherwise decide what is traced, and add spans to other traces.
 */
export function traceRequests(app: App, { tracer, limits }: Pick<Service, 'tracer' | 'limits'>): void {
  if (!tracer && !DEBUG_LEVELS.includes(app.log.level)) return;
  const isTrustedProxy = createProxyCheck(limits.trustProxy);
  app.addHook('onRequest', (request, reply, done) => {
    const isHealthCheck = request.routeOptions.config.access === 'health';
    const isTrusted = isTrustedProxy(request.socket.remoteAddress);
    const span = isHealthCheck ? undefined : tracer?.startRequest(tracedRequest(request, isTrusted));
    if (span) reply.raw.once('close', () => span.end(statusOf(reply)));
    runInRequest({ id: request.id, span }, done);
  });
}

const tracedRequest = (request: FastifyRequest, isTrusted: boolean): TracedRequest => ({
  id: request.id,
  method: request.method,
  route: request.routeOptions.url,
  path: pathOf(request),
  scheme: request.protocol,
  host: request.hostname || undefined,
  port: request.port ?? undefined,
  headers: isTrusted ? request.headers : { ...request.headers, traceparent: undefined, tracestate: undefined },
});

/** Milliseconds between two log lines about requests that are refused with 429. */
const REJECTION_LOG_INTERVAL_MS = 10_000;

/** Maximum number of clients that a line names. */
const MAX_LOGGED_CLIENTS = 5;

/**
 * Logs requests that are refused with 429: the first one at once, then one line per ten seconds with their number and
 * some clients. A client that sends too many requests must not flood the log. Call the returned function for each
 * refused request.
 */
function createRejectionLog(app: App): (client: string) => void {
  const clients = new Set<string>();
  let requests = 0;
  let timer: NodeJS.Timeout | undefined;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (requests === 0) return;
    app.log.info({ status: 429, requests, clients: [...clients] }, 'Requests rejected with 429.');
    requests = 0;
    clients.clear();
    timer = setTimeout(flush, REJECTION_LOG_INTERVAL_MS).unref();
  };
  app.addHook('onClose', async () => {
    flush();
    clearTimeout(timer);
  });

  return (client) => {
    requests++;
    if (clients.size < MAX_LOGGED_CLIENTS) clients.add(client);
    if (!timer) flush();
  };
}
