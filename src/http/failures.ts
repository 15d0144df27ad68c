import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyHttpOptions, FastifyReply, FastifyRequest } from 'fastify';
import { quoted } from '../model/error.ts';
import './access/request-access.ts';
import { ERROR_CODES } from './error-codes.ts';
import { failureOf, HttpError, type Problem, problemOf } from './errors.ts';
import type { App } from './fastify-app.ts';
import { GENERAL_HEADERS, JSON_TYPE } from './headers.ts';
import { REQUEST_ID, type RequestIds } from './request-log.ts';
import { linkTokenOf, pathOf } from './request-url.ts';
import type { Failure } from './schemas.ts';
import { closeAfterBody, endConnectionAfter } from './unread-bodies.ts';

/** Responds to every error with the error format of the HTTP API. */
export function handleErrors(app: App, requestId: RequestIds): void {
  app.setErrorHandler((error, request, reply) => sendFailure(error, request, reply));
  app.setNotFoundHandler((request, reply) => sendFailure(unknownRoute(request), request, reply));
  // Before the body is read: the framework also reads it for unknown routes.
  app.addHook('preParsing', (request, _reply, _payload, done) => done(request.is404 ? unknownRoute(request) : null));
  app.server.on('checkExpectation', (request, response) => refuseExpectation(request, response, requestId(request)));
  app.server.on('connect', (_request, socket) => refuseTunnel(socket));
}

/** Returns the 404 error for a request without a route. */
export function unknownRoute(request: FastifyRequest): HttpError {
  // Visitors of a link see only what follows its token.
  const path = linkTokenOf(request) === undefined ? pathOf(request) : request.url.split('?')[0];
  return new HttpError('unknown-route', `There is no route ${request.method} ${path}.`);
}

/** Rejects IDs in the URL that contain control characters. No ID does, and PostgreSQL has no texts with NUL. */
export function refuseControlCharactersInIds(app: App): void {
  app.addHook<{ Params: Readonly<Record<string, string>> | undefined }>('preValidation', ({ params }, _reply, done) => {
    for (const [name, value] of Object.entries(params ?? {})) {
      // The rules of paths are those of `parseFile` and `parseFolder`.
      if (name === '*' || !/\p{Cc}/u.test(value)) continue;
      throw new HttpError('invalid-request', `The ${name} ${quoted(value)} contains a control character.`);
    }
    done();
  });
}

/** Rejects requests whose target host is ambiguous. */
export function refuseAmbiguousHosts(app: App): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const problem = hostProblem(raw);
    if (problem === undefined) return done();
    endConnectionAfter(reply.raw, raw);
    throw new HttpError('invalid-host', problem);
  });
}

/** Returns why the target host of a request is ambiguous (RFC 9112, sections 3.2 and 3.2.2); undefined if it is not. */
function hostProblem({ headers, httpVersion, rawHeaders, url = '' }: IncomingMessage): string | undefined {
  if (headers.host === undefined) {
    return httpVersion === '1.1' ? 'The request has no Host header, which HTTP/1.1 requires.' : undefined;
  }
  // Node.js keeps the first Host header, but a reverse proxy might have used another one.
  const isHost = (text: string, index: number) => index % 2 === 0 && text.toLowerCase() === 'host';
  if (rawHeaders.filter(isHost).length > 1) return 'The request has more than one Host header.';
  const target = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];
  return target === undefined || target === headers.host
    ? undefined
    : 'The URL and the Host header name different hosts.';
}

/** Options of the framework for errors that occur before a request exists. */
handleErrors.options = {
  clientErrorHandler: (error, socket) => refuseConnection(error, socket),
  // Node.js would respond to a missing Host header without the error format.
  http: { requireHostHeader: false },
} satisfies FastifyHttpOptions<Server>;

/** Sends the error format as JSON. */
export function sendFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const envelope = beginFailure(error, request, reply);
  return reply.type(JSON_TYPE).send(envelope);
}

/** Logs an error, sets the status and headers of `reply`, and returns the error for the client. */
export function beginFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): Failure {
  const problem = problemOf(error, request.id);
  const isDisconnected = reply.raw.destroyed || (request.raw.destroyed && !request.raw.complete);
  if (problem.status === 500 && !isDisconnected) request.log.error({ err: error }, 'A request failed.');
  // An overload is logged where it is detected, not once per request.
  if (problem.status > 501 && !isDisconnected && !(error instanceof HttpError)) {
    // Clients can cause refusals at a limit in any number. Their stack says nothing.
    if (problem.code === 'overloaded') request.log.warn({ reason: problem.message }, 'Request refused at a limit');
    else request.log.warn({ err: error }, 'A request failed temporarily.');
  }
  // The operator must see it, because only they can grant access.
  if (problem.code === 'denied') request.log.warn({ err: error }, 'The store denied access.');
  // Headers of the response that failed.
  for (const name of ['content-length', 'content-disposition', 'etag', 'last-modified']) reply.removeHeader(name);
  reply.header('cache-control', 'no-store');
  if (REFUSALS.has(problem.status)) request.access?.recordRefusal(problem.message);
  if (problem.status === 401) reply.header('www-authenticate', request.access?.challenges() ?? []);
  if (problem.retryAfter !== undefined) reply.header('retry-after', problem.retryAfter);
  reply.code(problem.status);
  return failureOf(problem);
}

/** Statuses that refuse a request because of its sender. */
const REFUSALS = new Set([401, 403, 429]);

/** Rejects an `Expect` other than 100-continue, which Fastify does not see. */
function refuseExpectation(request: IncomingMessage, response: ServerResponse, requestId: string): void {
  const message = `The expectation ${quoted(request.headers.expect ?? '')} is not supported. Send "Expect: 100-continue", or no Expect header.`;
  const body = JSON.stringify(failureOf({ code: 'expectation-failed', message }));
  closeAfterBody(request, response);
  endConnectionAfter(response, request);
  response.writeHead(417, {
    ...GENERAL_HEADERS,
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(body),
    [REQUEST_ID]: requestId,
  });
  response.end(body);
}

/** Milliseconds that a client has to read the error before its connection closes. */
const CLOSE_TIMEOUT_MS = 1000;

/** Handles invalid HTTP and timeouts, for which no request exists: responds on the raw socket. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET') return void socket.destroy();
  const problem = CLIENT_ERRORS[error.code ?? ''] ?? {
    code: 'malformed-request',
    message: 'The request is not valid HTTP.',
  };
  respondAndClose(socket, problem);
}

/** Rejects CONNECT. Node.js would close the connection without a response, and has removed its listeners. */
function refuseTunnel(socket: Duplex): void {
  for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
  const message = 'The method CONNECT is for proxies, and this service is not a proxy.';
  respondAndClose(socket, { code: 'unsupported-method', message });
}

/** A problem for which no request exists. */
type RawProblem = Pick<Problem, 'code' | 'message'>;

/** Connections whose requests are no longer read. Node.js reports the same error again for every chunk. */
const ended = new WeakSet<Duplex>();

/** Responds on a raw socket, after the responses to all complete requests, and closes the connection. */
function respondAndClose(socket: Duplex, problem: RawProblem): void {
  if (ended.has(socket)) return;
  ended.add(socket);
  const respond = () => {
    const pending = pendingResponse(socket);
    if (pending?.req.complete) return void pending.once('finish', respond);
    // The previous response already closes the connection.
    if (socket.writableEnded) return;
    // A response has begun; the client would read another one as part of its body.
    if (pending?.headersSent) return void socket.destroy();
    const { status } = ERROR_CODES[problem.code];
    const body = JSON.stringify(failureOf(problem));
    const headers = {
      ...GENERAL_HEADERS,
      'content-type': JSON_TYPE,
      'content-length': Buffer.byteLength(body),
      [REQUEST_ID]: randomUUID(),
      connection: 'close',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
    // The client might never close its side.
    const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  };
  respond();
}

/** Returns the response in progress on a connection, from the internal field that Node.js itself uses. */
function pendingResponse(socket: Duplex): ServerResponse | undefined {
  const response: unknown = Reflect.get(socket, '_httpMessage');
  return response instanceof ServerResponse ? response : undefined;
}

const CLIENT_ERRORS: Readonly<Record<string, RawProblem>> = {
  HPE_HEADER_OVERFLOW: { code: 'headers-too-large', message: 'The URL and the headers are larger than 16 KiB.' },
  HPE_INVALID_EOF_STATE: {
    code: 'malformed-request',
    message: 'The client closed the connection in the middle of the request.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'request-timeout', message: 'The headers of the request took too long to arrive.' },
};
