import type { Server } from 'node:http';
import underPressure from '@fastify/under-pressure';
import type { FastifyHttpOptions } from 'fastify';
import { createFairSemaphore } from '../../concurrency/fair-semaphore.ts';
import { throttleLog } from '../../observability/log-throttle.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { type ConnectionLimits, clientNetwork, limitConnections } from './connections.ts';
import { limitRate, type RateLimits } from './request-rate.ts';
import {
  endSlowBodies,
  endStalledConnections,
  limitHeaders,
  rejectEncodedBodies,
  type TimeoutLimits,
} from './slow-clients.ts';

/** The limits for one client and for all clients together. */
export interface Limits extends ConnectionLimits, RateLimits, TimeoutLimits {
  /** Event loop delay in milliseconds above which the process refuses requests; 0 for no limit. */
  readonly eventLoopDelay: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route has no rate and load limits. For liveness checks: killing a busy process helps no user. */
    hasNoLimits?: boolean;
  }
}

/** Maximum seconds between two checks for late headers. */
const MAX_HEADER_CHECK_INTERVAL = 5;

/**
 * Seconds until an idle connection closes. Longer than the 60 seconds of common proxies and load balancers, so that
 * they close it first. If the service closed it, a request already on its way would be lost.
 */
const KEEP_ALIVE_TIMEOUT = 72;

/** Returns the options of the framework for these limits. */
export function limitOptions({ headersTimeout, idleTimeout, trustProxy }: Limits) {
  return {
    trustProxy: trustProxy && [...trustProxy],
    connectionTimeout: idleTimeout * 1000,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT * 1000,
    // A large upload takes hours. `endStalledConnections` ends stalled uploads and `endSlowBodies` other slow bodies.
    requestTimeout: 0,
    http: {
      requestTimeout: 0,
      headersTimeout: headersTimeout * 1000,
      connectionsCheckingInterval: Math.min(MAX_HEADER_CHECK_INTERVAL, headersTimeout / 4) * 1000,
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
  rejectEncodedBodies(app);
}

/** Milliseconds over which the event loop delay is averaged. */
const SAMPLE_INTERVAL_MS = 1000;

/** Seconds for `Retry-After`. The next sample, after one second, shows whether the delay has decreased. */
const RETRY_AFTER = 2;

/**
 * Responds with 503 at once while the event loop delay exceeds the limit, because more requests would slow down all of
 * them. Ignores the delay of the start.
 */
export async function shedLoad(app: App, { eventLoopDelay }: Pick<Limits, 'eventLoopDelay'>): Promise<void> {
  if (eventLoopDelay === 0) return;
  let enforcedFrom = Number.POSITIVE_INFINITY;
  app.addHook('onListen', async () => {
    // The first sample includes the work of starting.
    enforcedFrom = performance.now() + 2 * SAMPLE_INTERVAL_MS;
  });
  const warn = throttleLog((requests) =>
    app.log.warn({ requests, limit: eventLoopDelay }, 'Requests rejected with 503: the process is overloaded.'),
  );
  await app.register(underPressure, {
    maxEventLoopDelay: eventLoopDelay,
    sampleInterval: SAMPLE_INTERVAL_MS,
    pressureHandler: async (request, reply) => {
      if (request.routeOptions.config.hasNoLimits || performance.now() < enforcedFrom) return;
      warn();
      reply.header('retry-after', RETRY_AFTER);
      throw new HttpError('overloaded', `The service is overloaded. Try again in ${RETRY_AFTER} seconds.`);
    },
  });
}

/** Maximum concurrent listings of a process. With more, listings of large folders only wait for each other. */
const MAX_CONCURRENT_LISTINGS = 32;

/** Maximum concurrent listings of the trash of a process. Each can read the names of all items. */
export const MAX_CONCURRENT_TRASH_LISTINGS = 8;

/** Maximum number of listings that wait, and of those of one client. */
const MAX_WAITING_LISTINGS = 256;
const MAX_WAITING_LISTINGS_PER_CLIENT = 128;

/**
 * Runs a listing for the client with this address within the concurrency limit. Clients whose listings wait take turns. Throws
 * `overloaded` if too many wait.
 */
export type ListingLimiter = <Listing>(
  address: string,
  list: () => Promise<Listing>,
  signal: AbortSignal,
) => Promise<Listing>;

export function createListingLimiter(limit = MAX_CONCURRENT_LISTINGS): ListingLimiter {
  const semaphore = createFairSemaphore({
    limit,
    limitPerClient: limit,
    maxWaiting: MAX_WAITING_LISTINGS,
    maxWaitingPerClient: MAX_WAITING_LISTINGS_PER_CLIENT,
    busyMessage: 'Too many folder listings',
  });
  return async (address, list, signal) => {
    const release = await semaphore.acquire(clientNetwork(address), signal);
    try {
      return await list();
    } finally {
      release();
    }
  };
}
