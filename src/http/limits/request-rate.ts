import rateLimit from '@fastify/rate-limit';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../cache/lru-options.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { clientNetwork } from './connections.ts';
import type { WindowCounters } from './counters.ts';

/** The request rate limit and its counters. */
export interface RateLimits {
  /** Maximum requests per client and minute; 0 for no limit. */
  readonly requestsPerMinute: number;
  /** Counts requests for services on several machines. */
  readonly redis: Redis | undefined;
  /** Counts requests of all processes on this machine, without Redis. Undefined if there is only this process. */
  readonly counters: WindowCounters | undefined;
}

const MINUTE_MS = 60_000;

/** Maximum number of clients whose requests or leases a process holds. The least recently used are dropped. */
const MAX_CLIENTS = 10_000;

const REDIS_KEY_PREFIX = 'holdall:requests:';

/**
 * Refuses requests beyond `requestsPerMinute` per client with 429, also for unknown routes. A client is an IPv4 address
 * or a 64-bit IPv6 network, which is what one customer has. While Redis does not respond, all requests are accepted.
 */
export async function limitRate(app: App, { requestsPerMinute, redis, counters }: RateLimits): Promise<void> {
  if (requestsPerMinute === 0) return;
  await app.register(rateLimit, {
    // Route hooks would run after the hooks of the application, which check passwords.
    global: false,
    max: requestsPerMinute,
    timeWindow: MINUTE_MS,
    keyGenerator: ({ ip }) => clientNetwork(ip),
    cache: MAX_CLIENTS,
    ...(redis
      ? { redis, nameSpace: REDIS_KEY_PREFIX, skipOnError: true }
      : counters && { store: createLeaseStore(counters) }),
    allowList: ({ routeOptions }) => routeOptions.config.hasNoLimits === true,
    addHeaders: { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false },
    addHeadersOnExceeding: { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false },
    errorResponseBuilder: (_request, { ttl }) =>
      new HttpError(
        'rate-limited',
        `This address has sent more than ${requestsPerMinute} requests in a minute. Try again in ${Math.ceil(ttl / 1000)} seconds.`,
      ),
  });
  app.addHook('onRequest', app.rateLimit());
}

/**
 * The share of a limit that a process takes at once. A larger share needs fewer round trips. A smaller share leaves
 * less unused in processes that a client no longer reaches.
 */
const LEASE_SHARE = 1 / 200;

/** Units of one window that this process may use without a round trip. */
interface Lease {
  remaining: number;
  ends: number;
  /** Whether the window has no more units. */
  isExhausted: boolean;
  renewal: Promise<void> | undefined;
  /** Requests that wait for more units. */
  waiting: number;
  /** Requests that got no unit from the last renewal and retry. */
  unserved: number;
}

/** The result for `@fastify/rate-limit`: if `current` exceeds `max`, requests are refused for `ttl` milliseconds. */
export interface RateLimitResult {
  readonly current: number;
  readonly ttl: number;
}

/**
 * Returns a store class for `@fastify/rate-limit` whose processes share `counters`. Together they never let through
 * more than the limit. Each process takes units in leases, so that most requests need no round trip. With a limit of
 * 6000, one request in 30 does. A limit below 400 is taken unit by unit.
 */
export function createLeaseStore(counters: WindowCounters) {
  const leases = new Leases(counters);
  return class LeaseStore {
    incr(
      client: string,
      callback: (error: Error | null, result?: RateLimitResult) => void,
      windowMs: number,
      max: number,
    ): void {
      const result = leases.count(client, windowMs / 1000, max);
      if (result instanceof Promise) result.then((counted) => callback(null, counted), callback);
      else callback(null, result);
    }

    child(): LeaseStore {
      return this;
    }
  };
}

/** The leases of this process, by client. */
class Leases {
  readonly #counters: WindowCounters;
  readonly #leases = new LRUCache<string, Lease>(maxEntries(MAX_CLIENTS));

  constructor(counters: WindowCounters) {
    this.#counters = counters;
  }

  /** Counts one request. Returns a promise only if the lease must be renewed. */
  count(client: string, seconds: number, max: number): RateLimitResult | Promise<RateLimitResult> {
    const lease = this.#leaseOf(client);
    if (lease.isExhausted) return { current: max + 1, ttl: Math.max(0, lease.ends - Date.now()) };
    if (lease.remaining > 0) {
      lease.remaining--;
      return { current: 1, ttl: lease.ends - Date.now() };
    }
    lease.waiting++;
    lease.renewal ??= this.#renew(client, lease, seconds, max);
    return lease.renewal.then(() => this.count(client, seconds, max));
  }

  #leaseOf(client: string): Lease {
    const known = this.#leases.get(client);
    if (known && (known.ends > Date.now() || known.renewal)) return known;
    const lease: Lease = {
      remaining: 0,
      ends: Number.POSITIVE_INFINITY,
      isExhausted: false,
      renewal: undefined,
      waiting: 0,
      unserved: 0,
    };
    this.#leases.set(client, lease);
    return lease;
  }

  async #renew(client: string, lease: Lease, seconds: number, max: number): Promise<void> {
    const requested = Math.max(1, Math.floor(max * LEASE_SHARE), lease.unserved);
    try {
      const { granted, ends } = await this.#counters.consume(client, { requested, max, seconds });
      lease.remaining += granted;
      lease.unserved = lease.waiting - granted;
      lease.ends = ends;
      lease.isExhausted = granted === 0;
    } finally {
      lease.waiting = 0;
      lease.renewal = undefined;
    }
  }
}
