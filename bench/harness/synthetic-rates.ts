/** The requests per second and prefix that a store accepts. */
export interface Rates {
  readonly writes: number;
  readonly reads: number;
}

/**
 * Returns whether a store accepts a number of further requests below a prefix, as Amazon S3 does for each of its partitions.
 * The unused rest of one second can be used in the next one, but no later.
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
