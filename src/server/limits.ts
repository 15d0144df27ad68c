import cluster from 'node:cluster';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import type { WindowCounters } from '../http/limits/counters.ts';
import type { Limits } from '../http/limits/limits.ts';
import { throttleLog } from '../observability/log-throttle.ts';
import { createPrimaryCounters, type SharedLimit } from './shared-counters.ts';

/** The counters of limits that several processes or machines share. */
export interface SharedState {
  /** Undefined if `REDIS_URL` is not set. */
  readonly redis: Redis | undefined;
  /** Undefined in a process without a primary. */
  readonly counters: Record<SharedLimit, WindowCounters> | undefined;
}

/** Connects to Redis if `REDIS_URL` is set, and to the counters of the primary process if there is one. */
export async function openSharedState(
  { REDIS_URL: url }: Config,
  { logger, resources }: { logger: Logger; resources: AsyncDisposableStack },
): Promise<SharedState> {
  const counters = cluster.isWorker ? openPrimaryCounters(logger) : undefined;
  if (url === undefined) return { redis: undefined, counters };
  const { connectRedis } = await import('./redis.ts');
  const { redis } = resources.adopt(connectRedis(url, logger), (connection) => connection.close());
  return { redis, counters };
}

function openPrimaryCounters(logger: Logger): Record<SharedLimit, WindowCounters> {
  const warn = throttleLog((times) =>
    logger.warn({ times }, 'Primary process unresponsive; this worker counts requests and sign-in attempts by itself'),
  );
  return { requests: createPrimaryCounters('requests', warn), attempts: createPrimaryCounters('attempts', warn) };
}

/** Default limit of requests per client and minute: a hundred per second, more than a user causes. */
const DEFAULT_REQUESTS_PER_MINUTE = 6000;

/** The share of a process's connections that one client may have. */
const MAX_CONNECTION_SHARE = 1 / 4;

/** Timeout for a body that is not an upload. It has at most 64 KiB, so ten kilobits per second suffice. */
const BODY_TIMEOUT_SECONDS = 60;

/**
 * Returns the limits that the settings define. If only this machine has access, its requests are not counted by
 * default, and it may use all connections.
 */
export function limitsOf(config: Config, { redis, counters }: SharedState): Limits {
  const isLocal = config.ACCESS === undefined && config.ACCESS_FILE === undefined;
  return {
    requestsPerMinute: config.RATE_LIMIT ?? (isLocal ? 0 : DEFAULT_REQUESTS_PER_MINUTE),
    redis,
    counters: counters?.requests,
    connections: config.MAX_CONNECTIONS,
    connectionsPerClient: isLocal ? config.MAX_CONNECTIONS : Math.ceil(config.MAX_CONNECTIONS * MAX_CONNECTION_SHARE),
    headersTimeout: config.HEADERS_TIMEOUT,
    idleTimeout: config.IDLE_TIMEOUT,
    bodyTimeout: BODY_TIMEOUT_SECONDS,
    eventLoopDelay: config.MAX_EVENT_LOOP_DELAY,
    trustProxy: config.TRUST_PROXY ?? false,
  };
}
