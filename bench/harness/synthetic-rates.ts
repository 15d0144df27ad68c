/** What a store takes of each prefix in a second. */
export interface Rates {
  readonly writes: number;
  readonly reads: number;
}

/**
 * Tells whether a store takes so many requests more below a prefix, as Amazon S3 does of each of its partitions. What
 * was not used in one second may be used in the next, and no later.
 */
export function createLimiter(rates: Rates): (kind: keyof Rates, prefix: string, count: number) => boolean {
  const buckets = new Map<string, { left: number; at: number }>();
  return (kind, prefix, count) => {
    const now = performance.now();
    const name = `${kind} ${prefix}`;
    const bucket = buckets.get(name) ?? { left: rates[kind], at: now };
    const left = Math.min(rates[kind], bucket.left + ((now - bucket.at) / 1000) * rates[kind]);
    const isTaken = left >= count;
    buckets.set(name, { left: isTaken ? left - count : left, at: now });
    return isTaken;
  };
}
