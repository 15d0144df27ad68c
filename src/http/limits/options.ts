import type { FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import type { WindowCounters } from './counters.ts';

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

/** The liveness route. A supervisor kills a process that does not respond to it. */
export const LIVENESS = '/-/health/live';

/**
 * Returns whether a request is a liveness check. Load limits exempt these, because killing a busy process helps no
 * user.
 */
export function isLivenessCheck({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === LIVENESS;
}
