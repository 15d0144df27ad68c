import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyHttpOptions, FastifyReply, FastifyRequest } from 'fastify';
import { quoted } from '../domain/error.ts';
import { HttpError, type Problem, problemOf } from './errors.ts';
import { JSON_TYPE } from './headers.ts';
import { REQUEST_ID, requestId } from './request-log.ts';
import type { Failure } from './schemas.ts';
import type { App } from './service.ts';

/** Every failure, wherever it is found, is answered with the envelope of the interface. */
export function answerFailures(app: App): void {
  app.setErrorHandler((error, request, reply) => sendFailure(error, request, reply));
  app.setNotFoundHandler((request, reply) =>
    sendFailure(new HttpError(404, `There is no route ${request.method} ${pathOf(request)}.`), request, reply),
  );
  app.addHook('onRequest', async ({ raw }, reply) => {
    if (raw.headers.host === undefined && raw.httpVersion === '1.1') {
      reply.header('connection', 'close');
      throw new HttpError(400, 'The request has no Host header, which HTTP/1.1 needs.');
    }
  });
  app.server.on('checkExpectation', refuseExpectation);
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
  if (problem.status === 503 && !hasLeft) request.log.warn({ err: error }, 'A request could not be served now.');
  // Headers that were set for the answer that did not come about.
  for (const name of ['content-length', 'content-disposition', 'etag', 'last-modified', 'cache-control'])
    reply.removeHeader(name);
  if (problem.retryAfter !== undefined) reply.header('retry-after', problem.retryAfter);
  reply.code(problem.status);
  return envelopeOf(problem);
}

function envelopeOf({ message }: Pick<Problem, 'message'>): Failure {
  return { success: false, error: message };
}

/** An `Expect` of something else than 100-continue, of which Fastify does not get to know. */
function refuseExpectation(request: IncomingMessage, response: ServerResponse): void {
  const message = `The expectation ${quoted(request.headers.expect ?? '')} can't be met.`;
  const body = JSON.stringify(envelopeOf({ message }));
  response.writeHead(417, {
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(body),
    [REQUEST_ID]: requestId(request),
    Connection: 'close',
  });
  response.end(body);
}

/** What is no HTTP has no request: it is answered on the bare connection. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = CLIENT_ERRORS[error.code ?? ''] ?? ['400 Bad Request', 'The request is not valid HTTP.'];
  const body = JSON.stringify(envelopeOf({ message }));
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `X-Request-Id: ${randomUUID()}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The URL and the headers are over 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The head of the request took too long to arrive.'],
};

const pathOf = (request: FastifyRequest) => request.url.split('?')[0] ?? '';
