import { S3Client, type S3ClientConfig, S3ServiceException } from '@aws-sdk/client-s3';
import type { Cancellable } from '../../domain/store.ts';
import { sendTold, type TellRequest } from '../tell-request.ts';
import { type Abilities, createAbilities } from './abilities.ts';
import { toldOf } from './answers.ts';
import { createAsking, type SendOptions } from './asking.ts';
import { WRONG } from './clock.ts';
import type { Key } from './keys.ts';
import { createObjects, type Objects } from './objects.ts';
import { ATTEMPTS } from './retries.ts';
import type { S3Options } from './settings.ts';
import { locate } from './site.ts';
import { CONNECT_TIMEOUT, QUICK, STALL } from './time-outs.ts';
import { translate } from './translate.ts';

/** What a request is about, for its errors, and how long it may take. */
export interface Request extends Cancellable {
  /** The object that is asked for; the bucket as a whole where undefined. */
  readonly key?: Key;
  /** Milliseconds until the head of the answer. */
  readonly timeout?: number;
}

/** One bucket, and the one way to ask it. */
export interface Bucket {
  readonly name: string;
  /** The store's address; that of AWS where undefined. */
  readonly endpoint: string | undefined;
  /** For what is asked often: a tenth of the CPU that the client takes. */
  readonly objects: Objects;
  /** For everything else. */
  readonly client: S3Client;
  /** Told of what a person should know of though no request fails for it. */
  readonly warn: S3Options['warn'];
  /** What the store was found to lack. */
  readonly abilities: Abilities;
  /** Sends a command. Every error is a `StoreError` where it was foreseen, or what `signal` was aborted with. */
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
  const asking = createAsking({
    accessKeyId,
    secretAccessKey,
    locate: () => locate(client, options.bucket),
    retried,
    asked,
  });
  return {
    name: options.bucket,
    endpoint: options.endpoint,
    objects: createObjects(asking),
    client,
    warn: options.warn,
    abilities: createAbilities(options.warn),
    async ask({ key, signal, timeout = QUICK }, send) {
      signal?.throwIfAborted();
      try {
        return await send({ requestTimeout: timeout, ...(signal && { abortSignal: signal }) });
      } catch (error) {
        signal?.throwIfAborted();
        throw translate(error, { key, bucket: options.bucket, endpoint: options.endpoint });
      }
    },
    close() {
      asking.close();
      client.destroy();
    },
  };
}

function configure({ endpoint, region, accessKeyId, secretAccessKey, addressing, warn }: S3Options) {
  // A connection is kept by every client that reads slowly: none must wait for another's.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY };
  return {
    region,
    ...(endpoint !== undefined && { endpoint }),
    forcePathStyle: addressing === 'path',
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: ATTEMPTS,
    // Compatible stores refuse the trailing checksums that the client adds on its own (411 on Ceph 16).
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // A store that never answers "100 Continue" would hold up each part for seconds.
    expectContinueHeader: false,
    cacheMiddleware: true,
    // A region that is not the bucket's is a mistake to be told, not to be guessed around.
    followRegionRedirects: false,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT,
      requestTimeout: QUICK,
      throwOnRequestTimeout: true,
      socketTimeout: STALL,
      httpAgent: agent,
      httpsAgent: agent,
      logger: { trace() {}, debug() {}, info() {}, warn: (text) => warn(String(text), {}), error() {} },
    },
  } satisfies S3ClientConfig;
}

/**
 * Headers that others gave an object may hold UTF-8, which is signed as such: what goes over the wire are its bytes,
 * which Node wants as one character each. It comes last, behind the signing.
 */
function sendUtf8(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (given) => {
      const { request } = given;
      if (typeof request === 'object' && request !== null && 'headers' in request) {
        const headers = request.headers as Record<string, string>;
        for (const [name, value] of Object.entries(headers)) {
          if (NON_ASCII.test(value)) headers[name] = asBytes(value);
          // Node reads this one as bytes of UTF-8 itself, but only in requests that have a body (lib/_http_outgoing.js).
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
 * What was signed by a clock that the answer shows to be wrong is signed by the right one, and sent again. By its own rule
 * the client gives up where a clock was set right, and sends again all that is refused, for any reason, while one is wrong.
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
            // By this the client knows what to send again, whatever the refusal is.
            const clockSkewCorrected = Math.abs(config.systemClockOffset - offset) >= WRONG;
            Object.assign(error.$metadata, { clockSkewCorrected });
          }
          throw error;
        }
      },
    { relation: 'before', toMiddleware: 'httpSigningMiddleware', name: 'signAnew' },
  );
}

/** The client tells how often it sent a request only when it is done with it. */
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

/** Each request, as it goes over the wire. */
function tellRequests({ config: { requestHandler } }: S3Client, asked: TellRequest): void {
  const handle = requestHandler.handle.bind(requestHandler);
  requestHandler.handle = (request, options) => {
    const { method, protocol, hostname, port, path } = request;
    const url = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`;
    const send = () => handle(request, options);
    return sendTold(asked, { method, url }, send, ({ response }) => toldOf(response));
  };
}

/** Requests that were sent for an answer, or an error, of the client. */
function attemptsIn(told: unknown): number {
  if (typeof told !== 'object' || told === null || !('$metadata' in told)) return 0;
  return (told.$metadata as { attempts?: number } | undefined)?.attempts ?? 0;
}

const asBytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

const NON_ASCII = /[^\u0000-\u007f]/;
