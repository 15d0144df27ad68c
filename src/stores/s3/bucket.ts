import { S3Client, type S3ClientConfig, S3ServiceException } from '@aws-sdk/client-s3';
import type { Cancellable } from '../../model/store.ts';
import { type RequestObserver, sendObserved } from '../network.ts';
import { type Capabilities, createCapabilities } from './abilities.ts';
import {
  CONNECT_TIMEOUT_MS,
  createConnection,
  MAX_CLOCK_SKEW_MS,
  QUICK_TIMEOUT_MS,
  type SendOptions,
  STALL_TIMEOUT_MS,
} from './connection.ts';
import { toStoreError } from './errors.ts';
import type { Key } from './keys.ts';
import { createObjects, type Objects } from './objects.ts';
import { observedResponse } from './responses.ts';
import { ATTEMPTS } from './retry.ts';
import { findEndpoint } from './signature.ts';

/** The object of a request, for error messages, and the timeout. */
export interface Request extends Cancellable {
  /** The requested object; undefined for the whole bucket. */
  readonly key?: Key;
  /** Milliseconds until the response headers arrive. */
  readonly timeout?: number;
}

/** A bucket and its clients. All requests to the store go through it. */
export interface Bucket {
  readonly name: string;
  /** The URL of the store; undefined for AWS. */
  readonly endpoint: string | undefined;
  /** Sends frequent requests, with a tenth of the CPU time of `client`. */
  readonly objects: Objects;
  /** Sends all other requests. */
  readonly client: S3Client;
  /** Logs a problem that fails no request but that the operator should know. */
  readonly warn: S3Options['warn'];
  /** The features of Amazon S3 that the store supports, as far as is known. */
  readonly abilities: Capabilities;
  /** Sends a command. Throws a `StoreError` for expected errors, or the abort reason of `signal`. */
  ask<Output>(request: Request, send: (options: SendOptions) => Promise<Output>): Promise<Output>;
  close(): void;
}

export function connect(options: S3Options): Bucket {
  const client = new S3Client(configure(options));
  sendUtf8(client);
  signAnew(client);
  const { accessKeyId, secretAccessKey, retried = () => {}, asked } = options;
  tellRetries(client, retried);
  if (asked) tellRequests(client, asked);
  const asking = createConnection({
    accessKeyId,
    secretAccessKey,
    locate: () => findEndpoint(client, options.bucket),
    retried,
    asked,
  });
  return {
    name: options.bucket,
    endpoint: options.endpoint,
    objects: createObjects(asking),
    client,
    warn: options.warn,
    abilities: createCapabilities(options.warn),
    async ask({ key, signal, timeout = QUICK_TIMEOUT_MS }, send) {
      signal?.throwIfAborted();
      try {
        return await send({ requestTimeout: timeout, ...(signal && { abortSignal: signal }) });
      } catch (error) {
        signal?.throwIfAborted();
        throw toStoreError(error, { key, bucket: options.bucket, endpoint: options.endpoint });
      }
    },
    close() {
      asking.close();
      client.destroy();
    },
  };
}

function configure({ endpoint, region, accessKeyId, secretAccessKey, addressing, warn }: S3Options) {
  // Slow readers hold their connections. Without a limit, no request waits for a free connection.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY };
  return {
    region,
    ...(endpoint !== undefined && { endpoint }),
    forcePathStyle: addressing === 'path',
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: ATTEMPTS,
    // Some S3-compatible stores reject the trailing checksums that the client adds by default (411 on Ceph 16).
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // A store that never sends "100 Continue" would delay each part for seconds.
    expectContinueHeader: false,
    cacheMiddleware: true,
    // A wrong region is a configuration error. Report it instead of following the redirect.
    followRegionRedirects: false,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: QUICK_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      socketTimeout: STALL_TIMEOUT_MS,
      httpAgent: agent,
      httpsAgent: agent,
      logger: { trace() {}, debug() {}, info() {}, warn: (text) => warn(String(text), {}), error() {} },
    },
  } satisfies S3ClientConfig;
}

/**
 * Encodes non-ASCII header values as UTF-8 bytes, one character per byte, as Node expects them. Other tools may have
 * stored such values with an object. The signature covers the UTF-8 text, so this middleware runs after signing.
 */
function sendUtf8(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (given) => {
      const { request } = given;
      if (typeof request === 'object' && request !== null && 'headers' in request) {
        const headers = request.headers as Record<string, string>;
        for (const [name, value] of Object.entries(headers)) {
          if (NON_ASCII.test(value)) headers[name] = asBytes(value);
          // Node decodes this header from UTF-8 bytes, but only in requests with a body (lib/_http_outgoing.js).
          const isReadAgain = name === 'content-disposition' && Number(headers['content-length'] ?? 0) > 0;
          if (isReadAgain) headers[name] = asBytes(headers[name] ?? '');
        }
      }
      return next(given);
    },
    { step: 'deserialize', name: 'sendUtf8', priority: 'low' },
  );
}

/**
 * Retries a request with a corrected clock if the response shows that the clock was wrong at signing. By default, the
 * client doesn't retry once the clock is corrected, and retries every rejected request while the clock is wrong.
 */
function signAnew({ config, middlewareStack }: S3Client): void {
  middlewareStack.addRelativeTo(
    <Given, Result>(next: (given: Given) => Promise<Result>) =>
      async (given: Given) => {
        const offset = config.systemClockOffset;
        try {
          return await next(given);
        } catch (error) {
          if (error instanceof S3ServiceException) {
            // The client retries errors with this flag, whatever their code.
            const clockSkewCorrected = Math.abs(config.systemClockOffset - offset) >= MAX_CLOCK_SKEW_MS;
            Object.assign(error.$metadata, { clockSkewCorrected });
          }
          throw error;
        }
      },
    { relation: 'before', toMiddleware: 'httpSigningMiddleware', name: 'signAnew' },
  );
}

/** Reports retries when a request completes, because the client reports its attempts only then. */
function tellRetries(client: S3Client, retried: () => void): void {
  const tell = (told: unknown) => {
    for (let attempt = attemptsIn(told); attempt > 1; attempt--) retried();
  };
  client.middlewareStack.add(
    (next) => async (given) => {
      try {
        const result = await next(given);
        tell(result.output);
        return result;
      } catch (error) {
        tell(error);
        throw error;
      }
    },
    { step: 'initialize', name: 'tellRetries' },
  );
}

/** Reports each HTTP request that the client sends. */
function tellRequests({ config: { requestHandler } }: S3Client, asked: RequestObserver): void {
  const handle = requestHandler.handle.bind(requestHandler);
  requestHandler.handle = (request, options) => {
    const { method, protocol, hostname, port, path } = request;
    const url = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`;
    const send = () => handle(request, options);
    return sendObserved(asked, { method, url }, send, ({ response }) => observedResponse(response));
  };
}

/** Returns the number of attempts behind a result or an error of the client. */
function attemptsIn(told: unknown): number {
  if (typeof told !== 'object' || told === null || !('$metadata' in told)) return 0;
  return (told.$metadata as { attempts?: number } | undefined)?.attempts ?? 0;
}

const asBytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

const NON_ASCII = /[^\u0000-\u007f]/;

/** The location of a bucket, and the credentials for it. */
export interface S3Options {
  readonly bucket: string;
  /** The URL of the store; undefined for AWS in `region`. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Whether the bucket name is in the path of URLs or in their hostname. */
  readonly addressing: 'path' | 'virtual';
  /** The base URL of a public bucket, without a trailing `/`; undefined for a private bucket. */
  readonly publicUrl: string | undefined;
  /** Maximum number of objects that a folder operation copies in parallel. */
  readonly concurrency: number;
  /** Logs a problem that fails no request but that the operator should know. */
  readonly warn: (message: string, details: object) => void;
  /** Called for each retry. */
  readonly retried?: () => void;
  /** Observes each HTTP request. */
  readonly asked?: RequestObserver | undefined;
  /** Maximum bytes of an object that the store copies in one request: 5 GB on AWS and R2. */
  readonly copyLimit?: number;
}
