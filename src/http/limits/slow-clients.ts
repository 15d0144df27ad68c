import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { quoted } from '../../model/error.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';

/** Deadlines for clients, in seconds. */
export interface TimeoutLimits {
  /** Seconds until all headers of a request must have arrived. */
  readonly headersTimeout: number;
  /** Seconds without progress after which a stalled client is disconnected. */
  readonly idleTimeout: number;
  /** Seconds until the body of a request that is not an upload must have arrived. */
  readonly bodyTimeout: number;
}

/** Milliseconds to send the 408 response. The failed operation is undone first. */
const RESPONSE_TIMEOUT_MS = 10_000;

/**
 * Ends requests whose client makes no progress: after `idleTimeout` seconds without a byte in either direction.
 * A client that stops sending its body gets 408. A client that stops reading the response is disconnected, to free its
 * resources.
 *
 * Requests that wait for the service are not ended: their body has arrived whole, or its next bytes are not read yet.
 * Uploads and downloads that make progress can take hours.
 */
export function endStalledConnections(app: App, { idleTimeout }: Pick<TimeoutLimits, 'idleTimeout'>): void {
  const rejected = new WeakSet<ServerResponse>();
  // One function is shared by all requests, because each needs a listener.
  function endStalled(this: ServerResponse, socket: Socket): void {
    const stalled = findStall(this.req, socket);
    if (stalled === 'receiving' || (stalled === 'sending' && rejected.has(this))) return void socket.destroy();
    // The timeout fires once. Only bytes on the connection restart it.
    socket.setTimeout(stalled === 'sending' ? RESPONSE_TIMEOUT_MS : idleTimeout * 1000);
    if (stalled !== 'sending') return;
    rejected.add(this);
    send408(this.req, this, `stalled for ${idleTimeout} seconds`);
  }
  app.addHook('onRequest', (_request, { raw }, done) => {
    // Node.js emits `timeout` on the current response of the connection. It closes connections without a response
    // itself.
    raw.on('timeout', endStalled);
    done();
  });
}

/**
 * Returns what the client of an idle connection fails to do: read the response (`receiving`) or send its body (`sending`).
 * Returns undefined if the client waits for the service.
 */
function findStall(request: IncomingMessage, socket: Socket): 'receiving' | 'sending' | undefined {
  // The socket buffer is full, because the client has not read earlier bytes.
  if (socket.writableLength > 0) return 'receiving';
  return isRequestPending(request) ? 'sending' : undefined;
}

/** Returns whether the body is incomplete and its reader has read everything that arrived. */
export function isRequestPending(request: IncomingMessage): boolean {
  return !request.complete && request.readableFlowing === true && request.readableLength === 0;
}

/**
 * Fails the reader of the body with a 408 error, and closes the connection after the response. `problem` completes the
 * sentence "The request body …". Closes the connection at once if the response has begun, or if nothing reads the body.
 */
export function send408(request: IncomingMessage, response: ServerResponse, problem: string): void {
  if (response.headersSent || request.listenerCount('error') === 0) return void request.destroy();
  response.setHeader('connection', 'close');
  request.emit('error', new HttpError('request-timeout', `The request body ${problem}.`));
}

/** Requests whose body can take hours to arrive. */
const longBodies = new WeakSet<IncomingMessage>();

/** Exempts a request from the body deadline until the response has been sent. */
export function allowLongBody(request: IncomingMessage): void {
  longBodies.add(request);
}

/**
 * Ends requests whose body has not arrived within `bodyTimeout` seconds, even if bytes keep arriving. Responds with
 * 408, or closes the connection if the response has been sent. An upload has no deadline once its file part has begun.
 *
 * The deadline starts again if the service does not read the body, because the client then waits for the service.
 */
export function endSlowBodies(app: App, { bodyTimeout }: Pick<TimeoutLimits, 'bodyTimeout'>): void {
  app.addHook('onRequest', (request, { raw: response }, done) => {
    done();
    if (!hasBody(request.headers)) return;
    const { raw } = request;
    const timer = setTimeout(() => {
      if (!isRequestPending(raw) || (longBodies.has(raw) && !response.writableEnded)) return void timer.refresh();
      send408(raw, response, `did not arrive within ${bodyTimeout} seconds`);
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
      throw new HttpError('headers-too-large', `The request has ${count} headers. The maximum is ${MAX_HEADERS}.`);
    done();
  });
}

/** Rejects compressed bodies with 415. The service does not decompress them, and would store the compressed bytes. */
export function rejectEncodedBodies(app: App): void {
  app.addHook('preParsing', ({ headers }, reply, _payload, done) => {
    const { 'content-encoding': coding = 'identity', 'transfer-encoding': transfer = 'chunked' } = headers;
    if (!hasBody(headers)) return done();
    // The parser of Node.js rejects a transfer coding unless the last one is "chunked".
    if (/,[ \t]*chunked$/i.test(transfer)) throw unsupportedEncoding('Transfer-Encoding', transfer);
    if (coding.toLowerCase() === 'identity') return done();
    // RFC 9110, section 12.5.3: a 415 response lists the accepted codings.
    reply.header('accept-encoding', 'identity');
    throw unsupportedEncoding('Content-Encoding', coding);
  });
}

const unsupportedEncoding = (header: string, value: string) =>
  new HttpError(
    'unsupported-encoding',
    `${header} ${quoted(value)} is not supported for request bodies. Send the body uncompressed.`,
  );

/** Returns whether these headers announce a body (RFC 9112, section 6.3). */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
