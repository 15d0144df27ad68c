import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import type { Cancellable } from '../../domain/store.ts';
import type { Key } from './keys.ts';
import type { S3Options } from './settings.ts';
import { translate } from './translate.ts';

/** Milliseconds for a connection to come about. */
const CONNECT_TIMEOUT = 5_000;

/** Milliseconds until the head of an answer, for requests that are quickly done, and for those that move bytes. */
const QUICK = 20_000;
export const LONG = 10 * 60_000;

/** Milliseconds of silence after which a connection counts as lost: a copy of gigabytes may take minutes. */
const STALL = 5 * 60_000;

/** Requests in all that one call makes while the store is throttling, failing or out of reach. */
const ATTEMPTS = 4;

/** What a request is about, for its errors, and how long it may take. */
export interface Request extends Cancellable {
  /** The object that is asked for; the bucket as a whole where undefined. */
  readonly key?: Key;
  /** Milliseconds until the head of the answer. */
  readonly timeout?: number;
}

/** How a command is sent: what the client takes beside it. */
export interface SendOptions {
  readonly abortSignal?: AbortSignal;
  readonly requestTimeout: number;
}

/** One bucket, and the one way to ask it. */
export interface Bucket {
  readonly name: string;
  /** The store's address; that of AWS where undefined. */
  readonly endpoint: string | undefined;
  readonly client: S3Client;
  /** Told of what a person should know of though no request fails for it. */
  readonly warn: S3Options['warn'];
  /** Sends a command. Every error is a `StoreError` where it was foreseen, or what `signal` was aborted with. */
  ask<Output>(request: Request, send: (options: SendOptions) => Promise<Output>): Promise<Output>;
}

export function connect(options: S3Options): Bucket {
  const client = new S3Client(configure(options));
  sendUtf8(client);
  return {
    name: options.bucket,
    endpoint: options.endpoint,
    client,
    warn: options.warn,
    async ask({ key, signal, timeout = QUICK }, send) {
      signal?.throwIfAborted();
      try {
        return await send({ requestTimeout: timeout, ...(signal && { abortSignal: signal }) });
      } catch (error) {
        signal?.throwIfAborted();
        throw translate(error, { key, bucket: options.bucket, endpoint: options.endpoint });
      }
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

const asBytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

const NON_ASCII = /[^\u0000-\u007f]/;
