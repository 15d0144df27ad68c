import { createHmac } from 'node:crypto';
import { normalizeIP } from '@fastify/rate-limit';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { deriveKey } from '../../access/sealed.ts';

/** Whose attempt it is: a name as it was given, whether there is anybody of that name or not, and where from. */
export interface Attempt {
  readonly name: string;
  /** An address of IP. */
  readonly from: string;
}

/** Bounds how often anybody can try to guess passwords. */
export interface Throttle {
  /** Counts an attempt. With `retryAfter`, in seconds, it is one too many. */
  take(attempt: Attempt): Promise<{ readonly retryAfter?: number }>;
  /** Takes an attempt back that was no guess. */
  giveBack(attempt: Attempt): Promise<void>;
  /**
   * Whether an account has no more attempts from an address, by what this process has counted: for somebody who need
   * not be counted. Those who guess elsewhere do not keep them out.
   */
  look(attempt: Attempt): { readonly retryAfter?: number };
}

export interface ThrottleOptions {
  readonly key: Buffer;
  /** What services on several machines share. While it does not answer, each process counts for itself. */
  readonly redis: Pick<Redis, 'eval'> | undefined;
}

/** Attempts that are allowed in so many seconds. */
interface Limit {
  readonly of: (attempt: Attempt) => readonly string[];
  readonly max: number;
  readonly seconds: number;
}

const OF_ADDRESS: Limit = { of: ({ from }) => ['address', networkOf(from)], max: 20, seconds: 60 };
const OF_BOTH: Limit = { of: ({ name, from }) => ['account', name, networkOf(from)], max: 10, seconds: 60 };
const OF_BOTH_FOR_LONG: Limit = {
  of: ({ name, from }) => ['account for long', name, networkOf(from)],
  max: 30,
  seconds: 15 * 60,
};
const OF_ACCOUNT: Limit = { of: ({ name }) => ['account', name], max: 100, seconds: 15 * 60 };

/** In this order: who has reached one is not counted for those behind it, so that no address alone locks anybody out. */
const LIMITS = [OF_ADDRESS, OF_BOTH, OF_BOTH_FOR_LONG, OF_ACCOUNT];

/** Counters that a process keeps. The least used make room: those under attack are used all the time. */
const KEPT = 50_000;

export function createThrottle({ key, redis }: ThrottleOptions): Throttle {
  const counters = new LRUCache<string, Counter>({ max: KEPT });
  const ownKey = deriveKey(key, 'throttle');
  // People type passwords where names belong: nothing that is kept may show them.
  const idOf = (parts: readonly string[]) =>
    createHmac('sha256', ownKey).update(JSON.stringify(parts)).digest('base64url');
  const shared = redis && createSharedCounters(redis);

  const current = (id: string, seconds: number): Counter => {
    const kept = counters.get(id);
    if (kept && kept.ends > Date.now()) return kept;
    const counter = { count: 0, ends: Date.now() + seconds * 1000 };
    counters.set(id, counter);
    return counter;
  };

  return {
    async take(attempt) {
      for (const { of, max, seconds } of LIMITS) {
        const id = idOf(of(attempt));
        const own = current(id, seconds);
        own.count++;
        if (own.count > max) return waitUntil(own.ends);
        const everybodys = await shared?.add(id, 1, seconds);
        if (everybodys && everybodys.count > max) return waitUntil(everybodys.ends);
      }
      return {};
    },

    async giveBack(attempt) {
      for (const { of, seconds } of LIMITS) {
        const id = idOf(of(attempt));
        const own = current(id, seconds);
        own.count = Math.max(0, own.count - 1);
        await shared?.add(id, -1, seconds);
      }
    },

    look(attempt) {
      const own = counters.get(idOf(OF_BOTH.of(attempt)));
      return own && own.ends > Date.now() && own.count >= OF_BOTH.max ? waitUntil(own.ends) : {};
    },
  };
}

/** Attempts in a span of time that began with the first of them. */
interface Counter {
  count: number;
  /** When the span is over, in milliseconds since 1970. */
  readonly ends: number;
}

/** The first attempt of a span sets its end. What is given back after the end is not counted. */
const ADD = `
  local change = tonumber(ARGV[1])
  if change < 0 and redis.call('EXISTS', KEYS[1]) == 0 then return {0, 0} end
  local count = redis.call('INCRBY', KEYS[1], change)
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  return {count, redis.call('PTTL', KEYS[1])}
`;

function createSharedCounters(redis: Pick<Redis, 'eval'>) {
  return {
    async add(id: string, change: 1 | -1, seconds: number): Promise<Counter | undefined> {
      try {
        const answer = await redis.eval(ADD, 1, `holdall:attempts:${id}`, change, seconds * 1000);
        const [count, left] = Array.isArray(answer) ? answer : [];
        return typeof count === 'number' && typeof left === 'number' ? { count, ends: Date.now() + left } : undefined;
      } catch {
        // Whoever made the connection tells that it is lost.
        return undefined;
      }
    },
  };
}

function waitUntil(ends: number): { retryAfter: number } {
  return { retryAfter: Math.max(1, Math.ceil((ends - Date.now()) / 1000)) };
}

/** Whoever has an address of IPv6 has all of its network of 64 bits (RFC 6177). */
function networkOf(address: string): string {
  return normalizeIP(address, 64);
}
