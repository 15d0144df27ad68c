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

/** How much of the service one client, and all of them together, may take. */
export interface Limits {
  /** Requests that one client may send in a minute; 0 is without limit. */
  readonly requestsPerMinute: number;
  /** Counts requests for services on several machines. */
  readonly redis: Redis | undefined;
  /** Counts requests for the processes of this machine, without Redis; undefined if there is only this process. */
  readonly counters: WindowCounters | undefined;
  /** Connections that a process has at once. */
  readonly connections: number;
  /** Those of them that one client has; trusted proxies may have all. */
  readonly connectionsPerClient: number;
  /** Seconds within which the head of a request must have come. */
  readonly headersTimeout: number;
  /** Seconds of silence after which a client that has to send, or to take, something is given up. */
  readonly idleTimeout: number;
  /** Seconds within which a body that is no upload must have come. */
  readonly bodyTimeout: number;
  /** Milliseconds by which the process may lag behind before it refuses requests; 0 never does. */
  readonly eventLoopDelay: number;
  /**
   * The proxies that are believed when they tell whom a request comes from: addresses, networks, or `loopback`; false
   * for none.
   */
  readonly trustProxy: readonly string[] | false;
}

/** Seconds between two looks for heads that are late, at the most. */
const LONGEST_CHECK = 5;

/**
 * Seconds for which a connection without a request is kept: longer than the 60 of common proxies and load balancers, so
 * that it is they who close it. If it were this end, a request could be on its way just then, and be lost.
 */
const KEEP_ALIVE = 72;

/** What the framework has to be told of the limits when it is made. */
export function limitOptions({ headersTimeout, idleTimeout, trustProxy }: Limits) {
  return {
    trustProxy: trustProxy && [...trustProxy],
    connectionTimeout: idleTimeout * 1000,
    keepAliveTimeout: KEEP_ALIVE * 1000,
    // A large upload takes hours; what stalls is ended by `endStalledConnections`, other bodies by `endSlowBodies`.
    requestTimeout: 0,
    http: {
      requestTimeout: 0,
      headersTimeout: headersTimeout * 1000,
      connectionsCheckingInterval: Math.min(LONGEST_CHECK, headersTimeout / 4) * 1000,
    },
  } satisfies FastifyHttpOptions<Server>;
}

/** Keeps every request from now on within the limits, whatever route it is for, and before anything else is done for it. */
export async function limitRequests(app: App, limits: Limits): Promise<void> {
  limitConnections(app, limits);
  endStalledConnections(app, limits);
  endSlowBodies(app, limits);
  limitHeaders(app);
  await shedLoad(app, limits);
  await limitRate(app, limits);
  refuseEncodedBodies(app);
}
