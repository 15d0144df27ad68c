import rateLimit from '@fastify/rate-limit';
import { HttpError } from '../errors.ts';
import type { App } from '../service.ts';
import { clientNetwork } from './client-network.ts';
import { leaseStore } from './leases.ts';
import type { Limits } from './limits.ts';
import { isLivenessCheck } from './liveness.ts';

const MINUTE = 60_000;

/** Clients whose requests a single process counts. The least recently used are dropped. */
const COUNTED_CLIENTS = 10_000;

/** Prefix of the keys of requests in Redis. */
const NAME_SPACE = 'holdall:requests:';

/**
 * Refuses the requests of one client beyond `requestsPerMinute` with 429, also those for unknown routes. A client is an
 * address; for IPv6, a 64-bit network, which is what one customer has. While Redis does not respond, all requests are let
 * through.
 */
export async function limitRate(app: App, { requestsPerMinute, redis, counters }: Limits): Promise<void> {
  if (requestsPerMinute === 0) return;
  await app.register(rateLimit, {
    // On routes, the hook would come after those of the whole application, which check passwords.
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
