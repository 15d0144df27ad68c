import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { StoreError } from '../../domain/error.ts';
import { LATER } from '../network.ts';

/** Where a bucket is, and what requests to it are signed for. */
export interface Site {
  /** Scheme, host and port, without a `/`. */
  readonly origin: string;
  /** The path of the bucket, escaped, with a `/` at its end: an object's is that and its key. */
  readonly path: string;
  readonly region: string;
  readonly service: string;
}

/**
 * Where the client has the bucket. It alone knows the hosts of all regions and ways of addressing, so it is asked for a
 * URL; that sends nothing.
 */
export async function locate(client: S3Client, bucket: string): Promise<Site> {
  // A key that begins a session for each few minutes, and signs with that.
  if (bucket.endsWith('--x-s3')) throw ofOtherKind(bucket);
  const url = new URL(await getSignedUrl(client, new GetObjectCommand({ Bucket: bucket, Key: SAMPLE })));
  const scope = url.searchParams.get('X-Amz-Credential')?.split('/') ?? [];
  const [region, service] = scope.slice(-3);
  if (region === undefined || service === undefined || !url.pathname.endsWith(`/${SAMPLE}`)) throw ofOtherKind(bucket);
  return { origin: url.origin, path: url.pathname.slice(0, -SAMPLE.length), region, service };
}

const SAMPLE = 'sample';

function ofOtherKind(bucket: string): StoreError {
  const message = `${bucket} (S3_BUCKET) is a directory bucket, which Holdall can't use.`;
  return new StoreError('unavailable', message, { retryAfter: LATER });
}
