import type { RequestObserver } from '../network.ts';
import { Capabilities } from './capabilities.ts';
import { DEFAULT_TIMEOUT_MS, S3Client } from './client.ts';
import { awsProviderChain, CredentialCache, type Credentials } from './credentials.ts';
import { type BucketLocation, bucketEndpoint } from './endpoint.ts';
import type { KeyPrefix } from './keys.ts';

/** Minimum bytes of a part, so that an upload of some size needs few requests. */
const MIN_PART_BYTES = 8 * 2 ** 20;

/** The location of a bucket, and the credentials for it. */
export interface S3Options extends BucketLocation {
  /** The access key; undefined for the credentials of the standard AWS chain. */
  readonly credentials: Credentials | undefined;
  /** The part of the bucket to serve: the start of all keys, with a trailing `/`. Default: the whole bucket */
  readonly prefix?: string;
  /** The base URL of a public bucket, without a trailing `/`; undefined for a private bucket. */
  readonly publicUrl: string | undefined;
  /** Maximum number of objects that a folder operation copies in parallel. */
  readonly concurrency: number;
  /** Logs a problem that fails no request but that the operator should know. */
  readonly warn: (message: string, details: object) => void;
  /** Called for each retry. */
  readonly onRetry?: () => void;
  /** Observes each HTTP request. */
  readonly onRequest?: RequestObserver | undefined;
  /** Maximum bytes of an object that the store copies in one request. Default: 5 GiB, as on AWS and R2 */
  readonly maxCopyBytes?: number;
  /** Minimum bytes of a part of an upload. A smaller file is sent in one request. Default: 8 MiB */
  readonly minPartBytes?: number;
  /** Milliseconds until the response headers of a quick request arrive. Default: 20 seconds */
  readonly timeoutMs?: number;
  /** Milliseconds after which an operation of a process that died can be continued. Default: 60 seconds */
  readonly leaseMs?: number;
}

/** A bucket. All requests to the store go through its client. */
export interface Bucket extends KeyPrefix {
  readonly name: string;
  /** The configured URL of the store; undefined for AWS. */
  readonly endpoint: string | undefined;
  readonly client: S3Client;
  /** The features of Amazon S3 that the store supports. */
  readonly capabilities: Capabilities;
  readonly warn: S3Options['warn'];
  readonly minPartBytes: number;
  /** Names the access key and its source in error messages. */
  readonly accessKey: string;
}

/** Creates the client of a bucket. Sends no request. Throws `unavailable` for a directory bucket. */
export function openBucket(options: S3Options): Bucket {
  const { bucket, endpoint, region, prefix = '', credentials, warn, onRetry = () => {}, onRequest } = options;
  const provide = credentials === undefined ? awsProviderChain(region) : async () => credentials;
  const accessKey =
    credentials === undefined ? 'the access key of the AWS credential chain' : 'the access key in S3_ACCESS_KEY_ID';
  const client = new S3Client({
    context: { bucket, endpoint, accessKey },
    target: bucketEndpoint(options),
    prefix,
    credentials: new CredentialCache(provide, warn),
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    onRetry,
    onRequest,
  });
  return {
    name: bucket,
    prefix,
    endpoint,
    client,
    capabilities: new Capabilities(warn),
    warn,
    minPartBytes: options.minPartBytes ?? MIN_PART_BYTES,
    accessKey,
  };
}
