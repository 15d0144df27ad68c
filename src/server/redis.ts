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
const COMMAND_TIMEOUT_MS = 1000;

/** Milliseconds without a response after which the connection is closed and a new one is opened. */
const SOCKET_TIMEOUT_MS = 2000;

/** Milliseconds to establish a connection. */
const CONNECT_TIMEOUT_MS = 3000;

/** Maximum milliseconds between two connection attempts. */
const MAX_RETRY_DELAY_MS = 5000;

/**
 * Connects to Redis, and reconnects when the connection is lost. A command fails after a second without a response,
 * and immediately without a connection: commands are not queued. Logs once when the connection is lost and once when
 * it is restored, without the URL. Logs at most once a minute that a connected Redis does not execute commands, as
 * when its memory is full or it became a replica.
 */
export function connectRedis(url: string, logger: Pick<Logger, 'info' | 'warn'>): RedisConnection {
  const redis = new Redis(url, {
    connectionName: 'holdall',
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(100 * 2 ** Math.min(times, 10), MAX_RETRY_DELAY_MS),
  });
  let isConnected: boolean | undefined;
  let isClosing = false;

  const logUnreachable = (reason: string) => {
    if (isConnected === false || isClosing) return;
    isConnected = false;
    // Log only the message: a command error also has the parameters, and those of AUTH contain the password.
    logger.warn(
      { reason },
      'Redis unreachable; rate limits suspended, sign-in attempts counted per machine, sessions unavailable',
    );
  };
  redis.on('error', (error: Error) => logUnreachable(error.message));
  redis.on('close', () => logUnreachable('Connection closed'));
  redis.on('ready', () => {
    if (isConnected === true) return;
    isConnected = true;
    logger.info('Redis connected');
  });

  const warnThrottled = throttleLog((commands, reason: string) =>
    logger.warn(
      { reason, commands },
      'Redis commands failed; rate limits can be suspended, sign-in attempts can be counted per machine',
    ),
  );
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, stream) => {
    // Failures of the handshake are errors of the connection.
    if (redis.status === 'ready') {
      command.promise.catch((error: unknown) => {
        if (isCommandFailure(error)) warnThrottled(error.message);
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
function isCommandFailure(error: unknown): error is Error {
  if (!(error instanceof Error) || error.message.startsWith('NOSCRIPT')) return false;
  return error.name === 'ReplyError' || error.message === 'Command timed out';
}
