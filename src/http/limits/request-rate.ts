import rateLimit from '@fastify/rate-limit';
import { HttpError } from '../errors.ts';
import type { App } from '../service.ts';
import { clientNetwork } from './client-network.ts';
import { leaseStore } from './leases.ts';
import type { Limits } from './limits.ts';
import { isLivenessCheck } from './liveness.ts';

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
