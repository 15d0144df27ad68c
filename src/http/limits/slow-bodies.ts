import type { IncomingMessage } from 'node:http';
import type { App } from '../service.ts';
import type { Limits } from './limits.ts';
import { hasBody } from './request-form.ts';
import { isAwaited, tellOff } from './stalled-connections.ts';

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
      if (!isAwaited(raw) || (long.has(raw) && !response.writableEnded)) return void timer.refresh();
      tellOff(raw, response, `took longer than ${bodyTimeout} seconds`);
    }, bodyTimeout * 1000);
    timer.unref();
    raw.once('close', () => clearTimeout(timer));
  });
}
