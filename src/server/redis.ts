import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { throttleLog } from '../observability/log-throttle.ts';

/** A Redis connection that services share. It can be temporarily unreachable. */
export interface RedisConnection {
  readonly redis: Redis;
  /** Closes the connection immediately. Commands in progress fail. */
  close(): void;
}

/** Milliseconds until a command must have its response. A longer wait would delay requests that have a fallback. */
const COMMAND_TIMEOUT = 1000;

/** Milliseconds without a response after which the connection is closed and a new one is opened. */
const SOCKET_TIMEOUT = 2000;

/** Milliseconds to establish a connection. */
const CONNECT_TIMEOUT = 3000;

/** Maximum milliseconds between two connection attempts. */
const LONGEST_RETRY = 5000;

/**
 * Connects to Redis, and reconnects when the connection is lost. A command fails after a second without a response,
 * and immediately without a connection: commands are not queued. Logs once when the connection is lost and once when
 * it is restored, without the URL. Logs at most once a minute that a connected Redis does not execute commands, as
 * when its memory is full or it became a replica.
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
    // Log only the message: a command error also has the parameters, and those of AUTH contain the password.
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

  const warnOfFailure = throttleLog((commands, reason: string) =>
    logger.warn(
      { reason, commands },
      'Redis does not execute commands: requests may not be limited, and each machine may count attempts to sign in for itself.',
    ),
  );
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, stream) => {
    // Failures of the handshake are errors of the connection.
    if (redis.status === 'ready') {
      command.promise.catch((error: unknown) => {
        if (isFailure(error)) warnOfFailure(error.message);
      });
    }
    return send(command, stream);
  };

  return {
    redis,
    close() {
      isClosing = true;
      redis.disconnect();
    },
  };
}

/** Returns whether Redis refused a command or took too long, except for a script that it only has to load again. */
function isFailure(error: unknown): error is Error {
  if (!(error instanceof Error) || error.message.startsWith('NOSCRIPT')) return false;
  return error.name === 'ReplyError' || error.message === 'Command timed out';
}
