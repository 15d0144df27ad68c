import type { IncomingMessage } from 'node:http';
import type { App } from '../service.ts';
import type { Limits } from './limits.ts';
import { hasBody } from './request-form.ts';
import { isAwaited, tellOff } from './stalled-connections.ts';

/** Requests with a body of any length, which may take hours. */
const long = new WeakSet<IncomingMessage>();

/** Exempts a request from the deadline for its body until the response has been sent. */
export function allowLongBody(request: IncomingMessage): void {
  long.add(request);
}

/**
 * Ends requests whose body has not arrived within `bodyTimeout` seconds, though bytes keep coming: with 408, or at once
 * if the response has been sent. An upload may take as long as it needs once its file part has begun.
 *
 * A body that nobody reads is given the same time again: then the service is what it waits for.
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
