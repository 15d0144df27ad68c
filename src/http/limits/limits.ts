import type { Server } from 'node:http';
import underPressure from '@fastify/under-pressure';
import type { FastifyHttpOptions } from 'fastify';
import { createSemaphore } from '../../concurrency/semaphore.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { limitConnections } from './connections.ts';
import { throttleLog } from './log-throttle.ts';
import { isLivenessCheck, type Limits } from './options.ts';
import { limitRate } from './request-rate.ts';
import { endSlowBodies, endStalledConnections, limitHeaders, refuseEncodedBodies } from './slow-clients.ts';

/** Maximum seconds between two checks for late headers. */
const LONGEST_CHECK = 5;

/**
 * Seconds until an idle connection closes. Longer than the 60 seconds of common proxies and load balancers, so that
 * they close it first. If the service closed it, a request already on its way would be lost.
 */
const KEEP_ALIVE = 72;

/** Returns the options of the framework for these limits. */
export function limitOptions({ headersTimeout, idleTimeout, trustProxy }: Limits) {
  return {
    trustProxy: trustProxy && [...trustProxy],
    connectionTimeout: idleTimeout * 1000,
    keepAliveTimeout: KEEP_ALIVE * 1000,
    // A large upload takes hours. `endStalledConnections` ends stalled uploads and `endSlowBodies` other slow bodies.
    requestTimeout: 0,
    http: {
      requestTimeout: 0,
      headersTimeout: headersTimeout * 1000,
      connectionsCheckingInterval: Math.min(LONGEST_CHECK, headersTimeout / 4) * 1000,
    },
  } satisfies FastifyHttpOptions<Server>;
}

/** Applies the limits to all later requests, for any route, before other handlers run. */
export async function limitRequests(app: App, limits: Limits): Promise<void> {
  limitConnections(app, limits);
  endStalledConnections(app, limits);
  endSlowBodies(app, limits);
  limitHeaders(app);
  await shedLoad(app, limits);
  await limitRate(app, limits);
  refuseEncodedBodies(app);
}

/** Milliseconds over which the delay is averaged. */
const SAMPLE = 1000;

/** Seconds for `Retry-After`. The next sample, after one second, shows whether the delay has decreased. */
const RETRY_AFTER = 2;

/**
 * Responds with 503 at once while the event loop delay exceeds the limit, because more requests would slow down all of
 * them. Ignores the delay of the start.
 */
export async function shedLoad(app: App, { eventLoopDelay }: Pick<Limits, 'eventLoopDelay'>): Promise<void> {
  if (eventLoopDelay === 0) return;
  let settled = Number.POSITIVE_INFINITY;
  app.addHook('onListen', async () => {
    // The first sample includes the work of starting.
    settled = performance.now() + 2 * SAMPLE;
  });
  const warn = throttleLog((requests) =>
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

/** Maximum concurrent listings of a process. With more, listings of large folders only wait for each other. */
const LISTINGS = 32;

/** Maximum number of listings that wait. */
const WAITING = 256;

/** Runs a listing within the concurrency limit. Throws `unavailable` if the queue is full. */
export type ListInTurn = <Listing>(list: () => Promise<Listing>, signal: AbortSignal) => Promise<Listing>;

export function limitListings(): ListInTurn {
  const semaphore = createSemaphore({
    limit: LISTINGS,
    maxWaiting: WAITING,
    busyMessage: 'Too many folders are listed',
  });
  return async (list, signal) => {
    const release = await semaphore.acquire(signal);
    try {
      return await list();
    } finally {
      release();
    }
  };
}
