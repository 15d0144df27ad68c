import type { FastifyRequest } from 'fastify';
import { runFor } from '../tracing/current-request.ts';
import type { TracedRequest } from '../tracing/tracer.ts';
import './access/request-access.ts';
import { pathOf, statusOf } from './request-log.ts';
import type { App, Service } from './service.ts';

/** The levels of a log that has lines of calls of the store, which name the request that they are made for. */
const DETAILED: readonly string[] = ['debug', 'trace'];

/**
 * Lets what is done for a request find it (`currentRequest`), and makes a span of it where requests are traced: from its
 * head to the end of its answer. Probes of the service's health are not traced.
 */
export function traceRequests(app: App, { tracer }: Pick<Service, 'tracer'>): void {
  if (!tracer && !DETAILED.includes(app.log.level)) return;
  app.addHook('onRequest', (request, reply, done) => {
    const isProbe = request.routeOptions.config.access === 'health';
    const span = isProbe ? undefined : tracer?.begin(tracedRequest(request));
    if (span) reply.raw.once('close', () => span.end(statusOf(reply)));
    runFor({ id: request.id, span }, done);
  });
}

const tracedRequest = (request: FastifyRequest): TracedRequest => ({
  id: request.id,
  method: request.method,
  route: request.routeOptions.url,
  path: pathOf(request),
  scheme: request.protocol,
  host: request.hostname || undefined,
  port: request.port ?? undefined,
  headers: request.headers,
});
