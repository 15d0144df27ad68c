import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { HttpError, type Problem, problemOf } from './errors.ts';
import { REQUEST_ID } from './request-log.ts';
import type { App } from './service.ts';

/** Every failure, wherever it is found, is answered with the envelope of the interface. */
export function answerFailures(app: App): void {
  app.setErrorHandler((error, request, reply) => sendFailure(error, request, reply));
  app.setNotFoundHandler((request, reply) =>
    sendFailure(new HttpError(404, `There is no route ${request.method} ${pathOf(request)}.`), request, reply),
  );
}

/** What the framework has to be told when it is made: mistakes that it finds before any route and hook. */
answerFailures.options = {
  frameworkErrors: (error, request, reply) => {
    reply.header(REQUEST_ID, request.id);
    sendFailure(error, request, reply);
  },
  clientErrorHandler: (error, socket) => refuseConnection(error, socket),
} satisfies FastifyServerOptions;

function sendFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = problemOf(error, request.id);
  if (problem.status >= 500) request.log.error({ err: error }, 'A request failed.');
  // Headers that were set for the answer that did not come about.
  for (const name of ['content-length', 'content-disposition', 'etag', 'last-modified', 'cache-control'])
    reply.removeHeader(name);
  if (problem.retryAfter !== undefined) reply.header('retry-after', problem.retryAfter);
  return reply.code(problem.status).type('application/json; charset=utf-8').send(envelopeOf(problem));
}

function envelopeOf({ message }: Problem): { success: false; error: string } {
  return { success: false, error: message };
}

/** What is no HTTP has no request: it is answered on the bare connection. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = CLIENT_ERRORS[error.code ?? ''] ?? ['400 Bad Request', 'The request is not valid HTTP.'];
  const body = JSON.stringify({ success: false, error: message });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `X-Request-Id: ${randomUUID()}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The URL and the headers are over 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The head of the request took too long to arrive.'],
};

const pathOf = (request: FastifyRequest) => request.url.split('?')[0] ?? '';
