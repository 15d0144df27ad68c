import type { Redis } from 'ioredis';
import type { Config } from '../config/config.ts';
import type { Limits } from '../http/limits/limits.ts';
import type { WindowCounters } from '../http/limits/window-counters.ts';

/** Default limit of requests per client and minute: a hundred per second, more than a user causes. */
const DEFAULT_RATE = 6000;

/** The share of a process's connections that one client may have. */
const CLIENT_SHARE = 1 / 4;

/** Seconds for a body that is not an upload. It has at most 64 KiB, so ten kilobits per second suffice. */
const BODY_TIMEOUT = 60;

/**
 * Returns the limits that the settings define. If only this machine has access, its requests are not counted by
 * default, and it may use all connections.
 */
export function limitsOf(
  config: Config,
  { redis, counters }: { redis: Redis | undefined; counters: WindowCounters | undefined },
): Limits {
  const isLocal = config.ACCESS === undefined && config.ACCESS_FILE === undefined;
  return {
    requestsPerMinute: config.RATE_LIMIT ?? (isLocal ? 0 : DEFAULT_RATE),
    redis,
    counters,
    connections: config.MAX_CONNECTIONS,
    connectionsPerClient: isLocal ? config.MAX_CONNECTIONS : Math.ceil(config.MAX_CONNECTIONS * CLIENT_SHARE),
    headersTimeout: config.HEADERS_TIMEOUT,
    idleTimeout: config.IDLE_TIMEOUT,
    bodyTimeout: BODY_TIMEOUT,
    eventLoopDelay: config.MAX_EVENT_LOOP_DELAY,
    trustProxy: config.TRUST_PROXY ?? false,
  };
}
