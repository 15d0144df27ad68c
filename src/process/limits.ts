import type { Redis } from 'ioredis';
import type { Config } from '../config/config.ts';
import type { Limits } from '../http/limits/limits.ts';

/** Requests of one client in a minute, where nothing is set: a hundred in a second is more than a person causes. */
const DEFAULT_RATE = 6000;

/** The limits that the settings ask for. Requests of this machine alone are not counted unless that is set. */
export function limitsOf(config: Config, redis: Redis | undefined): Limits {
  const isLocal = config.ACCESS === undefined && config.ACCESS_FILE === undefined;
  return {
    requestsPerMinute: config.RATE_LIMIT ?? (isLocal ? 0 : DEFAULT_RATE),
    redis,
    connections: config.MAX_CONNECTIONS,
    headersTimeout: config.HEADERS_TIMEOUT,
    idleTimeout: config.IDLE_TIMEOUT,
    eventLoopDelay: config.MAX_EVENT_LOOP_DELAY,
    trustProxy: config.TRUST_PROXY ?? false,
  };
}
