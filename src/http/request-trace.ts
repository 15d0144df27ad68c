import type { FastifyRequest } from 'fastify';
import { runFor, type TracedRequest } from '../observability/tracer.ts';
import './access/request-access.ts';
import type { App } from './fastify-app.ts';
import { createProxyCheck } from './limits/connections.ts';
import { pathOf, statusOf } from './request-log.ts';
import type { Service } from './service.ts';

/** The log levels that include lines for store calls, which name the request that caused them. */
const DEBUG_LEVELS: readonly string[] = ['debug', 'trace'];

/**
 * Makes a request available to the code that runs for it (`currentRequest`). With tracing, its span lasts from its
 * headers to the end of its response. Health checks are not traced. A `traceparent` counts only if a proxy in
 * `TRUST_PROXY` sent it. Other clients could otherwise decide what is traced, and add spans to other traces.
 */
export function traceRequests(app: App, { tracer, limits }: Pick<Service, 'tracer' | 'limits'>): void {
  if (!tracer && !DEBUG_LEVELS.includes(app.log.level)) return;
  const isTrusted = createProxyCheck(limits.trustProxy);
  const isTrustedPeer = ({ socket: { remoteAddress } }: FastifyRequest) =>
    remoteAddress !== undefined && isTrusted(remoteAddress);
  app.addHook('onRequest', (request, reply, done) => {
    const isProbe = request.routeOptions.config.access === 'health';
    const span = isProbe ? undefined : tracer?.begin(tracedRequest(request, isTrustedPeer(request)));
    if (span) reply.raw.once('close', () => span.end(statusOf(reply)));
    runFor({ id: request.id, span }, done);
  });
}

const tracedRequest = (request: FastifyRequest, isTrusted: boolean): TracedRequest => ({
  id: request.id,
  method: request.method,
  route: request.routeOptions.url,
  path: pathOf(request),
  scheme: request.protocol,
  host: request.hostname || undefined,
  port: request.port ?? undefined,
  headers: isTrusted ? request.headers : { ...request.headers, traceparent: undefined, tracestate: undefined },
});
