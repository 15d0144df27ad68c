import type { Redis } from 'ioredis';
import type { Config } from '../config/config.ts';
import type { Limits } from '../http/limits/limits.ts';
import type { WindowCounters } from '../http/limits/window-counters.ts';

/** Requests of one client in a minute, where nothing is set: a hundred in a second is more than a person causes. */
const DEFAULT_RATE = 6000;

/** The part of the connections of a process that one client may have. */
const CLIENT_SHARE = 1 / 4;

/** Seconds for a body that is no upload. It has 64 KiB at most: ten kilobits in a second are enough. */
const BODY_TIMEOUT = 60;

/**
 * The limits that the settings ask for. Where this machine alone is served, its requests are not counted unless that is
 * set, and it may have all connections.
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
