import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { HttpError } from '../errors.ts';
import { beginFailure } from '../failures.ts';
import { JSON_TYPE } from '../headers.ts';
import { Failure } from '../schemas.ts';
import type { App, ServiceMetrics } from '../service.ts';

/** Serves the metrics for Prometheus. */
export function metricsRoute(app: App, { token, format }: ServiceMetrics): void {
  const isReader = tokenCheck(token);
  app.get(
    '/-/metrics',
    {
      config: { access: 'health' },
      schema: {
        tags: ['The service'],
        summary: 'What the service counts',
        description:
          'In the text format of Prometheus, of all processes together. Only where `METRICS_TOKEN` is set, to who sends it as `Authorization: Bearer`.',
        response: {
          200: { description: 'Metrics.', content: { 'text/plain': { schema: Type.String() } } },
          '4xx': Failure,
          '5xx': Failure,
        },
      },
    },
    async (request, reply) => {
      if (!isReader(request)) {
        const failure = beginFailure(new HttpError(401, UNKNOWN), request, reply);
        return reply.header('www-authenticate', 'Bearer realm="metrics"').type(JSON_TYPE).send(failure);
      }
      const { type, text } = await format();
      return reply.header('cache-control', 'no-store').type(type).serializer(String).send(text);
    },
  );
}

/** Returns a function that checks whether a request has the token as `Authorization: Bearer`. */
export function tokenCheck(token: Buffer): (request: Pick<FastifyRequest, 'headers'>) => boolean {
  const expected = digest(token);
  return ({ headers }) => {
    const given = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
    return given !== undefined && timingSafeEqual(digest(given), expected);
  };
}

const UNKNOWN = 'Metrics are given to who sends METRICS_TOKEN: "Authorization: Bearer …".';

/** The constant-time comparison needs values of equal length. */
const digest = (text: string | Buffer): Buffer => createHash('sha256').update(text).digest();
