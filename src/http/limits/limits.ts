import type { Server } from 'node:http';
import type { FastifyHttpOptions } from 'fastify';
import type { Redis } from 'ioredis';
import type { App } from '../service.ts';
import { limitConnections } from './connections.ts';
import { shedLoad } from './overload.ts';
import { limitHeaders, refuseEncodedBodies } from './request-form.ts';
import { limitRate } from './request-rate.ts';
import { endSlowBodies } from './slow-bodies.ts';
import { endStalledConnections } from './stalled-connections.ts';
import type { WindowCounters } from './window-counters.ts';

/** The limits for one client and for all clients together. */
export interface Limits {
  /** Maximum requests per client and minute; 0 for no limit. */
  readonly requestsPerMinute: number;
  /** Counts requests for services on several machines. */
  readonly redis: Redis | undefined;
  /** Counts requests of all processes on this machine, without Redis. Undefined if there is only this process. */
  readonly counters: WindowCounters | undefined;
  /** Maximum concurrent connections of a process. */
  readonly connections: number;
  /** Maximum concurrent connections of one client. Trusted proxies are exempt. */
  readonly connectionsPerClient: number;
  /** Seconds until all headers of a request must have arrived. */
  readonly headersTimeout: number;
  /** Seconds without progress after which a stalled client is disconnected. */
  readonly idleTimeout: number;
  /** Seconds until the body of a request that is not an upload must have arrived. */
  readonly bodyTimeout: number;
  /** Event loop delay in milliseconds above which the process refuses requests; 0 for no limit. */
  readonly eventLoopDelay: number;
  /** The proxies whose headers about the client are trusted: addresses, networks, or `loopback`; false for none. */
  readonly trustProxy: readonly string[] | false;
}

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
