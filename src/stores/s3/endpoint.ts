import { isIP } from 'node:net';
import { quoted } from '../../model/error.ts';
import { configurationError } from './errors.ts';

/** The location of a bucket. */
export interface BucketLocation {
  readonly bucket: string;
  /** The URL of the store; undefined for AWS in `region`. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** Whether the bucket name is in the path of URLs or in their hostname. */
  readonly addressing: 'path' | 'virtual';
}

/** The URL of a bucket, and the region of signatures for it. */
export interface BucketEndpoint {
  /** Scheme, host and port, without a trailing `/`. */
  readonly origin: string;
  /** The host and port of `origin`. */
  readonly host: string;
  /** The percent-encoded path of the bucket, with a trailing `/`. The path of an object is this path and its key. */
  readonly path: string;
  readonly region: string;
}

/**
 * Returns the endpoint of a bucket by the rules of the AWS SDKs (Amazon S3 endpoint rule set). Throws `unavailable` for
 * a directory bucket.
 */
export function bucketEndpoint({ bucket, endpoint, region, addressing }: BucketLocation): BucketEndpoint {
  // Directory buckets list keys without order, and require session credentials that are valid for minutes.
  if (bucket.endsWith('--x-s3'))
    throw configurationError(
      'store-misconfigured',
      `${quoted(bucket)} (S3_BUCKET) is a directory bucket, which Holdall does not support.`,
    );
  const { protocol, hostname, host, pathname } = new URL(endpoint ?? awsUrl(region));
  const isVirtual = addressing === 'virtual' && HOST_LABEL.test(bucket) && !isAddress(hostname);
  const bucketHost = isVirtual ? `${bucket}.${host}` : host;
  const basePath = pathname.endsWith('/') ? pathname : `${pathname}/`;
  return {
    origin: `${protocol}//${bucketHost}`,
    host: bucketHost,
    path: isVirtual ? basePath : `${basePath}${encodeURIComponent(bucket)}/`,
    region: endpoint === undefined && region === GLOBAL_REGION ? 'us-east-1' : region,
  };
}

const GLOBAL_REGION = 'aws-global';

/** Returns the URL of Amazon S3 in a region. */
function awsUrl(region: string): string {
  if (region === GLOBAL_REGION) return 'https://s3.amazonaws.com';
  const [, domain = 'amazonaws.com'] = PARTITIONS.find(([regions]) => regions.test(region)) ?? [];
  return `https://s3.${region}.${domain}`;
}

/** The domains of the AWS partitions other than `aws` and `aws-us-gov`, by their regions. */
const PARTITIONS = [
  [/^cn-\w+-\d+$/, 'amazonaws.com.cn'],
  [/^eusc-de-\w+-\d+$/, 'amazonaws.eu'],
  [/^us-iso-\w+-\d+$/, 'c2s.ic.gov'],
  [/^us-isob-\w+-\d+$/, 'sc2s.sgov.gov'],
  [/^eu-isoe-\w+-\d+$/, 'cloud.adc-e.uk'],
  [/^us-isof-\w+-\d+$/, 'csp.hci.ic.gov'],
] as const;

/** A bucket name that can be part of a hostname. The certificates of AWS do not cover names with dots. */
const HOST_LABEL = /^[a-z\d][a-z\d-]{1,61}[a-z\d]$/;

const isAddress = (hostname: string) => isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0;
