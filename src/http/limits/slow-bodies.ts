import type { FastifyRequest } from 'fastify';
import type { App } from '../service.ts';
import type { Limits } from './limits.ts';
import { hasBody } from './request-form.ts';
import { isAwaited, tellOff } from './stalled-connections.ts';

/**
 * Ends requests whose body has not come whole after `bodyTimeout` seconds, though it is sent without a pause: with 408,
 * or at once where they are answered already. An upload has as long as it takes, until it is answered.
 *
 * A body that nobody reads is given that time again: what it waits for then is this side.
 */
export function endSlowBodies(app: App, { bodyTimeout }: Pick<Limits, 'bodyTimeout'>): void {
  app.addHook('onRequest', (request, { raw: response }, done) => {
    done();
    if (!hasBody(request.headers)) return;
    const { raw } = request;
    const timer = setTimeout(() => {
      if (!isAwaited(raw) || (isUpload(request) && !response.writableEnded)) return void timer.refresh();
      tellOff(raw, response, `took longer than ${bodyTimeout} seconds`);
    }, bodyTimeout * 1000);
    timer.unref();
    raw.once('close', () => clearTimeout(timer));
  });
}

function isUpload({ method, routeOptions }: FastifyRequest): boolean {
  return method === 'POST' && routeOptions.url === '/upload';
}
