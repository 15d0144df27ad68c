import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HttpError } from '../errors.ts';
import type { App } from '../service.ts';
import type { Limits } from './limits.ts';

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
    tellOff(this.req, this, `did not go on for ${idleTimeout} seconds`);
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
  return isAwaited(request) ? 'sending' : undefined;
}

/** Whether there is more to come of a body, and somebody who has read all that has come. */
export function isAwaited(request: IncomingMessage): boolean {
  return !request.complete && request.readableFlowing === true && request.readableLength === 0;
}

/**
 * Fails whoever reads the body, who then answers with 408, and what the body did; the connection is closed behind the
 * answer, or at once where there was one already.
 */
export function tellOff(request: IncomingMessage, response: ServerResponse, what: string): void {
  if (response.headersSent || request.listenerCount('error') === 0) return void request.destroy();
  response.setHeader('connection', 'close');
  request.emit('error', new HttpError(408, `The body of the request ${what}, and is not whole.`));
}
