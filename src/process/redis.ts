import { Redis } from 'ioredis';
import type { Logger } from 'pino';

/** A Redis that services share, whether it can be reached at this moment or not. */
export interface RedisConnection {
  readonly redis: Redis;
  /** Ends the connection at once: what is still asked fails. */
  close(): void;
}

/** Milliseconds for the answer to one command: nobody waits longer for what the service can do without. */
const COMMAND_TIMEOUT = 1000;

/** Milliseconds without any answer after which the connection is given up, and a new one tried. */
const SOCKET_TIMEOUT = 2000;

/** Milliseconds for a connection to stand. */
const CONNECT_TIMEOUT = 3000;

/** Milliseconds before a connection is tried again, at the most. */
const LONGEST_RETRY = 5000;

/**
 * Connects to a Redis, and again whenever the connection is lost. A command fails within a second when there is no
 * answer, and at once while there is no connection: none is kept for later. When it is lost, and when it is back, is
 * logged, once each, without the URL.
 */
export function connectRedis(url: string, logger: Pick<Logger, 'info' | 'warn'>): RedisConnection {
  const redis = new Redis(url, {
    connectionName: 'holdall',
    connectTimeout: CONNECT_TIMEOUT,
    commandTimeout: COMMAND_TIMEOUT,
    socketTimeout: SOCKET_TIMEOUT,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(100 * 2 ** Math.min(times, 10), LONGEST_RETRY),
  });
  let isReached: boolean | undefined;
  let isClosing = false;

  const lose = (reason: string) => {
    if (isReached === false || isClosing) return;
    isReached = false;
    // Only the message: an error of a command has its parameters beside it, and those of AUTH are the password.
    const until =
      'requests are not limited, each machine counts attempts to sign in for itself, and requests with a session are a 503';
    logger.warn({ reason }, `Redis is not reached: until it is, ${until}.`);
  };
  redis.on('error', (error: Error) => lose(error.message));
  redis.on('close', () => lose('The connection was closed.'));
  redis.on('ready', () => {
    if (isReached === true) return;
    isReached = true;
    logger.info('Redis is reached.');
  });

  return {
    redis,
    close() {
      isClosing = true;
      redis.disconnect();
    },
  };
}
