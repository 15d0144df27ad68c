import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../domain/max-entries.ts';
import type { WindowCounters } from './window-counters.ts';

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
