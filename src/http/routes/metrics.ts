import { createHash, timingSafeEqual } from 'node:crypto';
import { Type } from 'typebox';
import { HttpError } from '../errors.ts';
import { beginFailure } from '../failures.ts';
import { JSON_TYPE } from '../headers.ts';
import { Failure } from '../schemas.ts';
import type { App, ServiceMetrics } from '../service.ts';

/** What the service has counted, for Prometheus. */
export function metricsRoute(app: App, { token, format }: ServiceMetrics): void {
  const expected = digest(token);
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
      const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
      if (given === undefined || !timingSafeEqual(digest(given), expected)) {
        const failure = beginFailure(new HttpError(401, UNKNOWN), request, reply);
        return reply.header('www-authenticate', 'Bearer realm="metrics"').type(JSON_TYPE).send(failure);
      }
      const { type, text } = await format();
      return reply.header('cache-control', 'no-store').type(type).serializer(String).send(text);
    },
  );
}

const UNKNOWN = 'Metrics are given to who sends METRICS_TOKEN: "Authorization: Bearer …".';

/** Of one length, as the comparison needs it. */
const digest = (text: string | Buffer): Buffer => createHash('sha256').update(text).digest();
