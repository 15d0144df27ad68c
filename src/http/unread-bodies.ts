import type { IncomingMessage } from 'node:http';
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

/**
 * Closes a connection only after the rest of the body has arrived (RFC 9112, section 9.6). Node.js closes it after the
 * response. The system then resets it because of the unread bytes, and a client that is still sending loses the response.
 */
export function awaitBodiesBeforeClosing(app: App): void {
  app.addHook('onRequest', ({ raw }, { raw: response }, done) => {
    done();
    if (!hasBody(raw.headers)) return;
    const { socket } = raw;
    // Node.js calls this member after a response that closes the connection.
    socket.destroySoon = () => closeAfterBody(raw);
    response.once('close', () => Reflect.deleteProperty(socket, 'destroySoon'));
  });
}

function closeAfterBody(request: IncomingMessage): void {
  const { socket } = request;
  const close = () => Socket.prototype.destroySoon.call(socket);
  if (request.complete || request.destroyed) return close();
  socket.end();
  request.once('end', close);
  discardRest(request);
}
