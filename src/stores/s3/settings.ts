import type { TellRequest } from '../tell-request.ts';

/** Where a bucket is, and who we are to it. */
export interface S3Options {
  readonly bucket: string;
  /** The store's address; that of AWS in `region` where undefined. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Whether the bucket stands in the path of URLs or in their host's name. */
  readonly addressing: 'path' | 'virtual';
  /** Where everybody may read the bucket, without a `/` at its end, if it is public. */
  readonly publicUrl: string | undefined;
  /** How many objects of a folder are copied at once. */
  readonly concurrency: number;
  /** Told of what a person should know of though no request fails for it. */
  readonly warn: (message: string, details: object) => void;
  /** Told of each request that is sent again. */
  readonly retried?: () => void;
  /** Told of each request that was sent. */
  readonly asked?: TellRequest | undefined;
  /** Bytes up to which an object is copied in one request: 5 GB on AWS and R2. */
  readonly copyLimit?: number;
}
