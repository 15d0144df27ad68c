import type { Redis } from 'ioredis';
import { FixedWindows, type Taken, type WindowCounters } from './window-counters.ts';

/** Takes up to ARGV[1] units of at most ARGV[2]. The first unit of a window sets its end. */
const TAKE = `
  local count = tonumber(redis.call('GET', KEYS[1]) or '0')
  local granted = math.max(0, math.min(tonumber(ARGV[1]), tonumber(ARGV[2]) - count))
  if granted > 0 then count = redis.call('INCRBY', KEYS[1], granted) end
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return {granted, count, redis.call('PTTL', KEYS[1])}
`;

/** Returns one unit, unless the window has ended. */
const GIVE_BACK = `
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

  const run = async (script: string, id: string, values: readonly number[]): Promise<Taken | undefined> => {
    try {
      const response = await redis.eval(script, 1, prefix + id, ...values);
      const [granted, count, left] = Array.isArray(response) ? response : [];
      if (typeof granted !== 'number' || typeof count !== 'number' || typeof left !== 'number') return undefined;
      const taken = { granted, count, ends: Date.now() + left };
      known.note(id, taken);
      return taken;
    } catch {
      // The owner of the connection logs the failure.
      return undefined;
    }
  };

  return {
    take: async (id, request) =>
      (await run(TAKE, id, [request.wanted, request.max, request.seconds * 1000])) ?? fallback.take(id, request),
    async giveBack(id) {
      if (!(await run(GIVE_BACK, id, []))) await fallback.giveBack(id);
    },
    peek(id) {
      const [here, there] = [known.peek(id), fallback.peek(id)];
      return here && there && there.count > here.count ? there : (here ?? there);
    },
  };
}
