import rateLimit from '@fastify/rate-limit';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../cache/lru-options.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { clientNetwork } from './connections.ts';
import type { WindowCounters } from './counters.ts';
import { isLivenessCheck, type Limits } from './options.ts';

const MINUTE = 60_000;

/** Clients whose requests one process counts. The least recently used are dropped. */
const COUNTED_CLIENTS = 10_000;

/** Prefix of the Redis keys for requests. */
const NAME_SPACE = 'holdall:requests:';

/**
 * Refuses requests beyond `requestsPerMinute` per client with 429, also for unknown routes. A client is an IPv4 address
 * or a 64-bit IPv6 network, which is what one customer has. While Redis does not respond, all requests are accepted.
 */
export async function limitRate(app: App, { requestsPerMinute, redis, counters }: Limits): Promise<void> {
  if (requestsPerMinute === 0) return;
  await app.register(rateLimit, {
    // Route hooks would run after the hooks of the application, which check passwords.
    global: false,
    max: requestsPerMinute,
    timeWindow: MINUTE,
    keyGenerator: ({ ip }) => clientNetwork(ip),
    cache: COUNTED_CLIENTS,
    ...(redis ? { redis, nameSpace: NAME_SPACE, skipOnError: true } : counters && { store: leaseStore(counters) }),
    allowList: isLivenessCheck,
    addHeaders: { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false },
    addHeadersOnExceeding: { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false },
    errorResponseBuilder: (_request, { ttl }) =>
      new HttpError(
        429,
        `More than ${requestsPerMinute} requests came from this address within a minute. Try again in ${Math.ceil(ttl / 1000)} seconds.`,
      ),
  });
  app.addHook('onRequest', app.rateLimit());
}

/** Clients for which a process holds leases. The least recently used are dropped, with the rest of their leases. */
const MAX_CLIENTS = 10_000;

/**
 * The share of a limit that a process takes at once. A larger share needs fewer round trips. A smaller share leaves
 * less unused in processes that a client no longer reaches.
 */
const LEASE_SHARE = 1 / 200;

/** Units of one window that this process may use without a round trip. */
interface Lease {
  left: number;
  ends: number;
  /** Whether the window has no more units. */
  isSpent: boolean;
  asking: Promise<void> | undefined;
  /** Requests that wait for more units. */
  waiting: number;
  /** Requests that got no unit from the last renewal and retry. */
  unserved: number;
}

/** The verdict for `@fastify/rate-limit`: if `current` exceeds `max`, requests are refused for `ttl` milliseconds. */
export interface Verdict {
  readonly current: number;
  readonly ttl: number;
}

/**
 * Returns a store for `@fastify/rate-limit` whose processes share `counters`. Together they never let through more than
 * the limit. Each process takes units in leases, so that most requests need no round trip. With a limit of 6000, one
 * request in 30 does. A limit below 400 is taken unit by unit.
 */
export function leaseStore(counters: WindowCounters) {
  const leases = new LRUCache<string, Lease>(maxEntries(MAX_CLIENTS));

  const renew = async (client: string, lease: Lease, seconds: number, max: number) => {
    const wanted = Math.max(1, Math.floor(max * LEASE_SHARE), lease.unserved);
    try {
      const { granted, ends } = await counters.take(client, { wanted, max, seconds });
      lease.left += granted;
      lease.unserved = lease.waiting - granted;
      lease.ends = ends;
      lease.isSpent = granted === 0;
    } finally {
      lease.waiting = 0;
      lease.asking = undefined;
    }
  };

  const count = (client: string, seconds: number, max: number): Verdict | Promise<Verdict> => {
    let lease = leases.get(client);
    if (!lease || (lease.ends <= Date.now() && !lease.asking)) {
      lease = { left: 0, ends: Number.POSITIVE_INFINITY, isSpent: false, asking: undefined, waiting: 0, unserved: 0 };
      leases.set(client, lease);
    }
    if (lease.isSpent) return { current: max + 1, ttl: Math.max(0, lease.ends - Date.now()) };
    if (lease.left > 0) {
      lease.left--;
      return { current: 1, ttl: lease.ends - Date.now() };
    }
    lease.waiting++;
    lease.asking ??= renew(client, lease, seconds, max);
    return lease.asking.then(() => count(client, seconds, max));
  };

  return class LeaseStore {
    incr(
      client: string,
      callback: (error: Error | null, verdict?: Verdict) => void,
      milliseconds: number,
      max: number,
    ): void {
      const verdict = count(client, milliseconds / 1000, max);
      if (verdict instanceof Promise) verdict.then((found) => callback(null, found), callback);
      else callback(null, verdict);
    }

    child(): LeaseStore {
      return this;
    }
  };
}
