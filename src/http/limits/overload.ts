import underPressure from '@fastify/under-pressure';
import { HttpError } from '../errors.ts';
import type { App } from '../service.ts';
import type { Limits } from './limits.ts';
import { isLivenessCheck } from './liveness.ts';
import { tellSeldom } from './tell-seldom.ts';

/** Milliseconds over which the delay is averaged. */
const SAMPLE = 1000;

/** Seconds for `Retry-After`: a sample later it is known whether it got better. */
const RETRY_AFTER = 2;

/**
 * Answers with 503 at once while the process lags behind: requests that it takes on then make all of them slower. The
 * work of starting is not held against it.
 */
export async function shedLoad(app: App, { eventLoopDelay }: Pick<Limits, 'eventLoopDelay'>): Promise<void> {
  if (eventLoopDelay === 0) return;
  let settled = Number.POSITIVE_INFINITY;
  app.addHook('onListen', async () => {
    // The first sample has what was before in it.
    settled = performance.now() + 2 * SAMPLE;
  });
  const warn = tellSeldom((requests) =>
    app.log.warn({ requests, limit: eventLoopDelay }, 'The process lags behind, and answers requests with 503.'),
  );
  await app.register(underPressure, {
    maxEventLoopDelay: eventLoopDelay,
    sampleInterval: SAMPLE,
    pressureHandler: async (request, reply) => {
      if (isLivenessCheck(request) || performance.now() < settled) return;
      warn();
      reply.header('retry-after', RETRY_AFTER);
      throw new HttpError(503, `The service is overloaded at this moment. Try again in ${RETRY_AFTER} seconds.`);
    },
  });
}
