import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { quoted } from '../../model/error.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import type { Limits } from './options.ts';

/** Milliseconds to send the 408 response. The failed operation is undone first. */
const ANSWER_TIME = 10_000;

/**
 * Ends requests whose client makes no progress: after `idleTimeout` seconds without a byte in either direction.
 * A client that stops sending its body gets 408. A client that stops reading the response is disconnected, to free its
 * resources.
 *
 * Requests that wait for the service are not ended: their body has arrived whole, or its next bytes are not read yet.
 * Uploads and downloads that make progress can take hours.
 */
export function endStalledConnections(app: App, { idleTimeout }: Pick<Limits, 'idleTimeout'>): void {
  const toldOff = new WeakSet<ServerResponse>();
  // One function is shared by all requests, because each needs a listener.
  function endStalled(this: ServerResponse, socket: Socket): void {
    const stalled = stalledBy(this.req, socket);
    if (stalled === 'taking' || (stalled === 'sending' && toldOff.has(this))) return void socket.destroy();
    // The timeout fires once. Only bytes on the connection restart it.
    socket.setTimeout(stalled === 'sending' ? ANSWER_TIME : idleTimeout * 1000);
    if (stalled !== 'sending') return;
    toldOff.add(this);
    sendTimeout(this.req, this, `did not go on for ${idleTimeout} seconds`);
  }
  app.addHook('onRequest', (_request, { raw }, done) => {
    // Node.js emits `timeout` on the current response of the connection. It closes connections without a response
    // itself.
    raw.on('timeout', endStalled);
    done();
  });
}

/**
 * Returns what the client of an idle connection fails to do: read the response (`taking`) or send its body (`sending`).
 * Returns undefined if the client waits for the service.
 */
function stalledBy(request: IncomingMessage, socket: Socket): 'taking' | 'sending' | undefined {
  // The socket buffer is full, because the client has not read earlier bytes.
  if (socket.writableLength > 0) return 'taking';
  return isRequestPending(request) ? 'sending' : undefined;
}

/** Returns whether the body is incomplete and its reader has read everything that arrived. */
export function isRequestPending(request: IncomingMessage): boolean {
  return !request.complete && request.readableFlowing === true && request.readableLength === 0;
}

/**
 * Fails the reader of the body with a 408 error, and closes the connection after the response. `what` completes the
 * sentence "The body of the request …". Closes the connection at once if the response has begun, or if nothing reads
 * the body.
 */
export function sendTimeout(request: IncomingMessage, response: ServerResponse, what: string): void {
  if (response.headersSent || request.listenerCount('error') === 0) return void request.destroy();
  response.setHeader('connection', 'close');
  request.emit('error', new HttpError(408, `The body of the request ${what}, and is not whole.`));
}

/** Requests whose body can take hours to arrive. */
const long = new WeakSet<IncomingMessage>();

/** Exempts a request from the body deadline until the response has been sent. */
export function allowLongBody(request: IncomingMessage): void {
  long.add(request);
}

/**
 * Ends requests whose body has not arrived within `bodyTimeout` seconds, even if bytes keep arriving. Responds with
 * 408, or closes the connection if the response has been sent. An upload has no deadline once its file part has begun.
 *
 * The deadline starts again if the service does not read the body, because the client then waits for the service.
 */
export function endSlowBodies(app: App, { bodyTimeout }: Pick<Limits, 'bodyTimeout'>): void {
  app.addHook('onRequest', (request, { raw: response }, done) => {
    done();
    if (!hasBody(request.headers)) return;
    const { raw } = request;
    const timer = setTimeout(() => {
      if (!isRequestPending(raw) || (long.has(raw) && !response.writableEnded)) return void timer.refresh();
      sendTimeout(raw, response, `took longer than ${bodyTimeout} seconds`);
    }, bodyTimeout * 1000);
    timer.unref();
    raw.once('close', () => clearTimeout(timer));
  });
}

/** Maximum number of headers of a request. Browsers and chains of proxies send fewer. */
const MAX_HEADERS = 200;

/**
 * Rejects requests with too many headers with 431, because each header costs more than its bytes. Node.js would
 * silently drop headers over its limit, including those that a proxy appended to identify the client.
 */
export function limitHeaders(app: App): void {
  // No limit in Node.js: 16 KiB hold at most 4,096 headers.
  app.server.maxHeadersCount = 0;
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const count = raw.rawHeaders.length / 2;
    if (count > MAX_HEADERS)
      throw new HttpError(431, `The request has ${count} headers, where at most ${MAX_HEADERS} are taken.`);
    done();
  });
}

/** Rejects compressed bodies with 415. The service does not decompress them, and would store the compressed bytes. */
export function refuseEncodedBodies(app: App): void {
  app.addHook('preParsing', ({ headers }, reply, _payload, done) => {
    const coding = headers['content-encoding'];
    if (coding === undefined || coding.toLowerCase() === 'identity' || !hasBody(headers)) return done();
    // RFC 9110, section 12.5.3: a 415 response lists the accepted codings.
    reply.header('accept-encoding', 'identity');
    throw new HttpError(415, `The body is sent with Content-Encoding: ${quoted(coding)}; send it as it is, without.`);
  });
}

/** Returns whether these headers announce a body (RFC 9112, section 6.3). */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
