import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { App } from './fastify-app.ts';
import { hasBody } from './limits/slow-clients.ts';

/** Milliseconds that a client has to read the response to a rejected upload while it still sends. */
const DISCARD_TIMEOUT_MS = 30_000;

/** The streams that read the bodies of requests. */
const readers = new WeakMap<IncomingMessage, Readable>();

/** Sets the stream that reads the body of a request, and that pauses it. */
export function setReader(request: IncomingMessage, reader: Readable): void {
  readers.set(request, reader);
}

/**
 * Reads and drops the rest of the body, so that a client that is still sending can read the response. Closes the
 * connection if the client does not stop.
 */
export function discardRest(request: IncomingMessage): void {
  readers.get(request)?.destroy();
  if (request.destroyed) return;
  request.unpipe();
  // Also drain a body that has arrived whole: an unread stream never closes, and everything that refers to it stays in
  // memory.
  request.resume();
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), DISCARD_TIMEOUT_MS);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
}

/** Connections that end with a response. The service ignores the requests that follow on them. */
const ending = new WeakSet<Socket>();

/** Ends the connection with a response. Requests that follow on it are ignored (RFC 9112, section 9.6). */
export function endConnectionAfter(response: ServerResponse, { socket }: IncomingMessage): void {
  response.setHeader('connection', 'close');
  ending.add(socket);
}

/** Ends connections as `closeAfterBody` describes, and ignores the requests that follow on them. */
export function awaitBodiesBeforeClosing(app: App): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (ending.has(raw.socket)) {
      reply.hijack();
      raw.resume();
      return;
    }
    if (hasBody(raw.headers)) closeAfterBody(raw, reply.raw);
    done();
  });
}

/**
 * Lets a response that closes its connection do so only after the rest of the body of its request has arrived (RFC 9112,
 * section 9.6). Node.js closes it at once. The system then resets it because of the unread bytes, and a client that is still sending
 * loses the response.
 */
export function closeAfterBody(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  // Emitted when it is the turn of this response: clients can send several requests at once, and their handlers overlap.
  response.once('prefinish', () => {
    // Node.js calls this member after a response that closes the connection.
    const destroySoon = () => discardAndClose(request);
    socket.destroySoon = destroySoon;
    response.once('close', () => {
      if (socket.destroySoon === destroySoon) Reflect.deleteProperty(socket, 'destroySoon');
    });
  });
}

function discardAndClose(request: IncomingMessage): void {
  const { socket } = request;
  ending.add(socket);
  if (request.complete || request.destroyed) return close(socket);
  socket.end();
  request.once('end', () => close(socket));
  discardRest(request);
}

const close = (socket: Socket) => Socket.prototype.destroySoon.call(socket);
