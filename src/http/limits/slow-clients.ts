import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { quoted } from '../../model/error.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import type { Limits } from './options.ts';

/** Milliseconds for the answer to who was told off: what was begun is undone before it. */
const ANSWER_TIME = 10_000;

/**
 * Ends requests whose client does not go on: one that announced a body and sends nothing of it any more is answered
 * with 408; one that does not take what it asked for is cut off, so that nothing is held open for it. Both after
 * `idleTimeout` seconds in which not a byte went either way.
 *
 * A request is left alone, however long it takes, when it is this side that is slow: it has arrived whole and is being
 * worked on, or its next bytes are here and not read yet. Uploads and downloads that go on may take hours.
 */
export function endStalledConnections(app: App, { idleTimeout }: Pick<Limits, 'idleTimeout'>): void {
  const toldOff = new WeakSet<ServerResponse>();
  // One function for all requests, as each of them has to have a listener.
  function endStalled(this: ServerResponse, socket: Socket): void {
    const stalled = stalledBy(this.req, socket);
    if (stalled === 'taking' || (stalled === 'sending' && toldOff.has(this))) return void socket.destroy();
    // It fires once, and is set again only by bytes.
    socket.setTimeout(stalled === 'sending' ? ANSWER_TIME : idleTimeout * 1000);
    if (stalled !== 'sending') return;
    toldOff.add(this);
    sendTimeout(this.req, this, `did not go on for ${idleTimeout} seconds`);
  }
  app.addHook('onRequest', (_request, { raw }, done) => {
    // Node tells the response that is in turn on its connection. Connections without one it closes by itself.
    raw.on('timeout', endStalled);
    done();
  });
}

/** What the client of a silent connection should do and does not; undefined where it has nothing to do but wait. */
function stalledBy(request: IncomingMessage, socket: Socket): 'taking' | 'sending' | undefined {
  // Bytes that the system takes no more of, as the client has not taken those before.
  if (socket.writableLength > 0) return 'taking';
  return isRequestPending(request) ? 'sending' : undefined;
}

/** Whether there is more to come of a body, and somebody who has read all that has come. */
export function isRequestPending(request: IncomingMessage): boolean {
  return !request.complete && request.readableFlowing === true && request.readableLength === 0;
}

/**
 * Fails whoever reads the body, who then answers with 408, and what the body did; the connection is closed behind the
 * answer, or at once where there was one already.
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

/** Headers that a request may have: more than any browser and any row of proxies sends. */
const MAX_HEADERS = 200;

/**
 * Refuses requests with too many headers, which cost more than their bytes. Node would leave out those beyond a number
 * without a word: also the ones that a proxy appended to say whom the request is from.
 */
export function limitHeaders(app: App): void {
  // Without a limit of its own: 16 KiB have at most 4,096 of them.
  app.server.maxHeadersCount = 0;
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const count = raw.rawHeaders.length / 2;
    if (count > MAX_HEADERS)
      throw new HttpError(431, `The request has ${count} headers, where at most ${MAX_HEADERS} are taken.`);
    done();
  });
}

/** Refuses bodies that are compressed: nothing here unpacks them, and their bytes would be taken for what they hold. */
export function refuseEncodedBodies(app: App): void {
  app.addHook('preParsing', ({ headers }, reply, _payload, done) => {
    const coding = headers['content-encoding'];
    if (coding === undefined || coding.toLowerCase() === 'identity' || !hasBody(headers)) return done();
    // RFC 9110, section 12.5.3: what would have been taken.
    reply.header('accept-encoding', 'identity');
    throw new HttpError(415, `The body is sent with Content-Encoding: ${quoted(coding)}; send it as it is, without.`);
  });
}

/** Whether a request of these headers has a body, of any length: RFC 9112, section 6.3. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
