import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../cache/lru-options.ts';

/** Counters of fixed time windows. A window begins with the first unit consumed, and is dropped when it ends. */
export interface WindowCounters {
  /** Consumes up to `requested` units of the window of `id`, which has `max` units. Grants 0 if none are left. */
  consume(id: string, request: ConsumeRequest): Promise<ConsumeResult>;
  /** Returns one unit. Has no effect after the end of the window. */
  refund(id: string): Promise<void>;
  /** Returns the last known state of a window without a round trip; undefined if none is known. */
  peek(id: string): Window | undefined;
}

export interface ConsumeRequest {
  readonly requested: number;
  readonly max: number;
  readonly seconds: number;
}

export interface Window {
  /** Units consumed so far. */
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly ends: number;
}

export interface ConsumeResult extends Window {
  readonly granted: number;
}

/**
 * Maximum number of windows. The least recently used are dropped; a window under attack stays, because it is in use.
 */
const MAX_WINDOWS = 50_000;

/** The windows that one process counts. */
export class FixedWindows {
  readonly #windows = new LRUCache<string, { count: number; readonly ends: number }>(maxEntries(MAX_WINDOWS));

  consume(id: string, { requested, max, seconds }: ConsumeRequest): ConsumeResult {
    const now = Date.now();
    let window = this.#windows.get(id);
    if (!window || window.ends <= now) {
      window = { count: 0, ends: now + seconds * 1000 };
      this.#windows.set(id, window);
    }
    const granted = Math.max(0, Math.min(requested, max - window.count));
    window.count += granted;
    return { granted, count: window.count, ends: window.ends };
  }

  /** Returns one unit. The result is the window afterwards; undefined if it has ended. */
  refund(id: string): Window | undefined {
    const window = this.#windows.get(id);
    if (!window || window.ends <= Date.now()) return undefined;
    window.count = Math.max(0, window.count - 1);
    return window;
  }

  peek(id: string): Window | undefined {
    const window = this.#windows.get(id);
    return window && window.ends > Date.now() ? window : undefined;
  }

  /** Stores a state that was counted elsewhere. */
  set(id: string, { count, ends }: Window): void {
    if (ends > Date.now()) this.#windows.set(id, { count, ends });
  }
}

/** Creates counters for this process only. */
export function createLocalCounters(): WindowCounters {
  const windows = new FixedWindows();
  return {
    consume: async (id, request) => windows.consume(id, request),
    refund: async (id) => void windows.refund(id),
    peek: (id) => windows.peek(id),
  };
}

/** Consumes up to ARGV[1] units of at most ARGV[2]. The first unit of a window sets its end. */
const CONSUME_SCRIPT = `
  local count = tonumber(redis.call('GET', KEYS[1]) or '0')
  local granted = math.max(0, math.min(tonumber(ARGV[1]), tonumber(ARGV[2]) - count))
  if granted > 0 then count = redis.call('INCRBY', KEYS[1], granted) end
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return {granted, count, redis.call('PTTL', KEYS[1])}
`;

/** Returns one unit, unless the window has ended. */
const REFUND_SCRIPT = `
  if tonumber(redis.call('GET', KEYS[1]) or '0') < 1 then return {0, 0, 0} end
  return {0, redis.call('DECR', KEYS[1]), redis.call('PTTL', KEYS[1])}
`;

/**
 * Counters that services on several machines share. While Redis does not respond, `fallback` counts. `peek` returns the
 * state that this process saw last.
 */
export function createRedisCounters(
  redis: Pick<Redis, 'eval'>,
  { prefix, fallback }: { readonly prefix: string; readonly fallback: WindowCounters },
): WindowCounters {
  const known = new FixedWindows();

  const runScript = async (
    script: string,
    id: string,
    values: readonly number[],
  ): Promise<ConsumeResult | undefined> => {
    try {
      const response = await redis.eval(script, 1, prefix + id, ...values);
      const [granted, count, ttl] = Array.isArray(response) ? response : [];
      if (typeof granted !== 'number' || typeof count !== 'number' || typeof ttl !== 'number') return undefined;
      const result = { granted, count, ends: Date.now() + ttl };
      known.set(id, result);
      return result;
    } catch {
      // The owner of the connection logs the failure.
      return undefined;
    }
  };

  return {
    consume: async (id, request) =>
      (await runScript(CONSUME_SCRIPT, id, [request.requested, request.max, request.seconds * 1000])) ??
      fallback.consume(id, request),
    async refund(id) {
      if (!(await runScript(REFUND_SCRIPT, id, []))) await fallback.refund(id);
    },
    peek(id) {
      const [shared, local] = [known.peek(id), fallback.peek(id)];
      return shared && local && local.count > shared.count ? local : (shared ?? local);
    },
  };
}
