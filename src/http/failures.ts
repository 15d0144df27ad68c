import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyHttpOptions, FastifyReply, FastifyRequest } from 'fastify';
import { quoted } from '../domain/error.ts';
import './access/request-access.ts';
import { HttpError, type Problem, problemOf } from './errors.ts';
import { GENERAL_HEADERS, JSON_TYPE } from './headers.ts';
import { pathOf, REQUEST_ID, type RequestIds } from './request-log.ts';
import type { Failure } from './schemas.ts';
import type { App } from './service.ts';

/** Every failure, wherever it is found, is answered with the envelope of the interface. */
export function answerFailures(app: App, requestId: RequestIds): void {
  app.setErrorHandler((error, request, reply) => sendFailure(error, request, reply));
  app.setNotFoundHandler((request, reply) => sendFailure(unknownRoute(request), request, reply));
  // Before a body is read, which the framework does for unknown routes too.
  app.addHook('preParsing', (request, _reply, _payload, done) => done(request.is404 ? unknownRoute(request) : null));
  app.server.on('checkExpectation', (request, response) => refuseExpectation(request, response, requestId(request)));
  app.server.on('connect', (_request, socket) => refuseTunnel(socket));
}

/** The failure of a request for which there is no route. */
export function unknownRoute(request: FastifyRequest): HttpError {
  return new HttpError(404, `There is no route ${request.method} ${pathOf(request)}.`);
}

/** Refuses requests of which it can't be told for which host they are. */
export function refuseAmbiguousHosts(app: App): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const problem = hostProblem(raw);
    if (problem === undefined) return done();
    reply.header('connection', 'close');
    throw new HttpError(400, problem);
  });
}

/** Why it can't be told for which host a request is, if it can't: RFC 9112, sections 3.2 and 3.2.2. */
function hostProblem({ headers, httpVersion, rawHeaders, url = '' }: IncomingMessage): string | undefined {
  if (headers.host === undefined) {
    return httpVersion === '1.1' ? 'The request has no Host header, which HTTP/1.1 needs.' : undefined;
  }
  // Node keeps the first one, where a proxy in front may have gone by another.
  const isHost = (text: string, index: number) => index % 2 === 0 && text.toLowerCase() === 'host';
  if (rawHeaders.filter(isHost).length > 1) return 'The request has more than one Host header.';
  const target = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];
  return target === undefined || target === headers.host ? undefined : 'The URL and the Host header name two hosts.';
}

/** What the framework has to be told when it is made, of mistakes that it finds before there is a request. */
answerFailures.options = {
  clientErrorHandler: (error, socket) => refuseConnection(error, socket),
  // Node would answer the lack of one without an envelope.
  http: { requireHostHeader: false },
} satisfies FastifyHttpOptions<Server>;

/** Answers with the envelope of a failure, as JSON. */
export function sendFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const envelope = beginFailure(error, request, reply);
  return reply.type(JSON_TYPE).send(envelope);
}

/** Logs an error, gives `reply` its status and headers, and says what the client is to be told. */
export function beginFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): Failure {
  const problem = problemOf(error, request.id);
  const hasLeft = reply.raw.destroyed || (request.raw.destroyed && !request.raw.complete);
  if (problem.status === 500 && !hasLeft) request.log.error({ err: error }, 'A request failed.');
  // An overload is logged where it is found, and not again for each request.
  if (problem.status === 503 && !hasLeft && !(error instanceof HttpError))
    request.log.warn({ err: error }, 'A request could not be served now.');
  // Headers that were set for the answer that did not come about.
  for (const name of ['content-length', 'content-disposition', 'etag', 'last-modified']) reply.removeHeader(name);
  reply.header('cache-control', 'no-store');
  if (REFUSALS.has(problem.status)) request.access?.recordRefusal(problem.message);
  if (problem.status === 401) reply.header('www-authenticate', request.access?.challenges() ?? []);
  if (problem.retryAfter !== undefined) reply.header('retry-after', problem.retryAfter);
  reply.code(problem.status);
  return envelopeOf(problem);
}

/** The statuses of requests that were refused to somebody, rather than impossible. */
const REFUSALS = new Set([401, 403, 429]);

function envelopeOf({ message }: Pick<Problem, 'message'>): Failure {
  return { success: false, error: message };
}

/** An `Expect` of something else than 100-continue, of which Fastify does not get to know. */
function refuseExpectation(request: IncomingMessage, response: ServerResponse, requestId: string): void {
  const message = `The expectation ${quoted(request.headers.expect ?? '')} can't be met.`;
  const body = JSON.stringify(envelopeOf({ message }));
  response.writeHead(417, {
    ...GENERAL_HEADERS,
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(body),
    [REQUEST_ID]: requestId,
    Connection: 'close',
  });
  response.end(body);
}

/** Milliseconds in which a client can read why its connection is closed, before it is. */
const LINGER = 1000;

/** What is no HTTP, or does not come to an end, has no request: it is answered on the bare connection. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET') return void socket.destroy();
  const [status, message] = CLIENT_ERRORS[error.code ?? ''] ?? ['400 Bad Request', 'The request is not valid HTTP.'];
  answerLast(socket, status, message);
}

/** A CONNECT, whose connection Node would close without an answer, and has stopped looking after. */
function refuseTunnel(socket: Duplex): void {
  for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
  answerLast(socket, '501 Not Implemented', 'The method CONNECT is for proxies, and this service is none.');
}

/** Connections that no request is read from any more. Node tells of the same mistake again with every piece that comes. */
const ended = new WeakSet<Duplex>();

/** Answers on a bare connection, behind the answers to all requests that came whole before, and closes it. */
function answerLast(socket: Duplex, status: string, message: string): void {
  if (ended.has(socket)) return;
  ended.add(socket);
  const inTurn = () => {
    const answer = answerUnderWay(socket);
    if (answer?.req.complete) return void answer.once('finish', inTurn);
    // It was the last one anyway.
    if (socket.writableEnded) return;
    // One has begun, behind which another would be taken for more of its bytes.
    if (answer?.headersSent) return void socket.destroy();
    const body = JSON.stringify(envelopeOf({ message }));
    const headers = {
      ...GENERAL_HEADERS,
      'content-type': JSON_TYPE,
      'content-length': Buffer.byteLength(body),
      [REQUEST_ID]: randomUUID(),
      connection: 'close',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`);
    // The other end may never close its side.
    const timer = setTimeout(() => socket.destroy(), LINGER).unref();
    socket.once('close', () => clearTimeout(timer));
  };
  inTurn();
}

/** The answer that is in turn on a connection. Node looks at the same before it answers one by itself. */
function answerUnderWay(socket: Duplex): ServerResponse | undefined {
  const answer: unknown = Reflect.get(socket, '_httpMessage');
  return answer instanceof ServerResponse ? answer : undefined;
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The URL and the headers are over 16 KiB.'],
  HPE_INVALID_EOF_STATE: ['400 Bad Request', 'The client ended the connection in the middle of the request.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The head of the request took too long to arrive.'],
};
