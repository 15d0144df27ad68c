import rateLimit from '@fastify/rate-limit';
import { HttpError } from '../errors.ts';
import type { App } from '../service.ts';
import type { Limits } from './limits.ts';
import { isLivenessCheck } from './liveness.ts';

const MINUTE = 60_000;

/** Clients that a process counts the requests of at once: beyond, those that were not seen for longest are forgotten. */
const COUNTED_CLIENTS = 10_000;

/** What the keys in Redis begin with. */
const NAME_SPACE = 'holdall:requests:';

/**
 * Answers the requests of one client beyond so many in a minute with 429: those for routes that do not exist, too. A
 * client is an address, and of IPv6 a network of 64 bits, which is what one customer has. While Redis can't be asked,
 * all are let through.
 */
export async function limitRate(app: App, { requestsPerMinute, redis }: Limits): Promise<void> {
  if (requestsPerMinute === 0) return;
  await app.register(rateLimit, {
    // On routes, the hook would come after those of the whole application, which check passwords.
    global: false,
    max: requestsPerMinute,
    timeWindow: MINUTE,
    ipv6Subnet: 64,
    cache: COUNTED_CLIENTS,
    ...(redis && { redis, nameSpace: NAME_SPACE, skipOnError: true }),
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
