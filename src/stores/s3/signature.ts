import { createHash, createHmac, hash } from 'node:crypto';
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { StoreError } from '../../model/error.ts';
import { RETRY_LATER_SECONDS } from '../network.ts';

/** The access key of a store, and the scope of its signatures. */
export interface Signing {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  readonly service: string;
}

/** A request in the form in which it is sent. */
export interface Signable {
  readonly method: string;
  /** The path, with each byte percent-encoded once. */
  readonly path: string;
  readonly query: Query;
  /** Headers by lower-case name, including `host`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Unencoded parameters by name. Parameters with an undefined value are omitted. */
export type Query = Readonly<Record<string, string | undefined>>;

/**
 * Signs requests with AWS Signature Version 4 in its S3 form: paths are encoded once and not normalized. The AWS SDK
 * client needs ten times as long, mostly for features that these requests do not use.
 */
export interface Signer {
  /** Returns all headers of the signed request, as of `time` (milliseconds since 1970). */
  sign(request: Signable, payloadHash: string, time: number): Record<string, string>;
  /** Returns the query of a presigned URL that is valid for `expires` seconds from `time`. */
  presign(request: Signable, expires: number, time: number): string;
}

/** The payload hash of a request without a body. */
export const EMPTY_HASH = createHash('sha256').digest('hex');

export function createSigner({ accessKeyId, secretAccessKey, region, service }: Signing): Signer {
  let day = '';
  let keyOfDay = Buffer.alloc(0);

  /** Caches the signing key of the day: deriving it costs as much as the rest of a signature. */
  const keyFor = (date: string): Buffer => {
    if (date !== day) {
      const steps = [date, region, service, TERMINATOR];
      keyOfDay = steps.reduce((key, step) => hmac(key, step).digest(), Buffer.from(`AWS4${secretAccessKey}`));
      day = date;
    }
    return keyOfDay;
  };

  const signatureOf = (moment: string, scope: string, canonical: string): string => {
    const text = `${ALGORITHM}\n${moment}\n${scope}\n${hash('sha256', canonical)}`;
    return hmac(keyFor(moment.slice(0, 8)), text).digest('hex');
  };

  const scopeOf = (moment: string) => `${moment.slice(0, 8)}/${region}/${service}/${TERMINATOR}`;

  return {
    sign({ method, path, query, headers }, payloadHash, time) {
      const moment = momentOf(time);
      const scope = scopeOf(moment);
      const all: Record<string, string> = { ...headers, 'x-amz-content-sha256': payloadHash, 'x-amz-date': moment };
      const { lines, names } = canonicalHeaders(all);
      const canonical = `${method}\n${path}\n${queryString(query)}\n${lines}\n${names}\n${payloadHash}`;
      const signature = signatureOf(moment, scope, canonical);
      all['authorization'] =
        `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
      return all;
    },

    presign({ method, path, query, headers }, expires, time) {
      const moment = momentOf(time);
      const scope = scopeOf(moment);
      const { lines, names } = canonicalHeaders(headers);
      const search = queryString({
        ...query,
        'X-Amz-Algorithm': ALGORITHM,
        'X-Amz-Credential': `${accessKeyId}/${scope}`,
        'X-Amz-Date': moment,
        'X-Amz-Expires': String(expires),
        'X-Amz-SignedHeaders': names,
      });
      const canonical = `${method}\n${path}\n${search}\n${lines}\n${names}\nUNSIGNED-PAYLOAD`;
      return `${search}&X-Amz-Signature=${signatureOf(moment, scope, canonical)}`;
    },
  };
}

const ALGORITHM = 'AWS4-HMAC-SHA256';
const TERMINATOR = 'aws4_request';

const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text);

/** Formats a time as `20260131T235959Z`. */
const momentOf = (time: number) => `${new Date(time).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;

/** Returns the encoded parameters sorted by encoded name, as they are sent and signed. */
export function queryString(query: Query): string {
  const escaped: string[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) escaped.push(`${escapeText(name)}=${escapeText(value)}`);
  }
  // Compare names only: "=" sorts after "-" and digits, so comparing "name=value" misplaces a name that is a prefix.
  return escaped.length > 1 ? escaped.toSorted(byName).join('&') : escaped.join('');
}

function byName(left: string, right: string): number {
  return nameOf(left) < nameOf(right) ? -1 : 1;
}

const nameOf = (parameter: string) => parameter.slice(0, parameter.indexOf('='));

function canonicalHeaders(headers: Readonly<Record<string, string>>): { lines: string; names: string } {
  const sorted = Object.keys(headers).toSorted();
  let lines = '';
  for (const name of sorted) lines += `${name}:${(headers[name] ?? '').trim().replaceAll(/\s+/g, ' ')}\n`;
  return { lines, names: sorted.join(';') };
}

/**
 * Percent-encodes all characters except the unreserved ones (RFC 3986, section 2.3). `encodeURIComponent` also leaves
 * `!'()*` unencoded.
 */
export function escapeText(text: string): string {
  const escaped = encodeURIComponent(text);
  return LEFT.test(escaped) ? escaped.replaceAll(ALL_LEFT, escapeOne) : escaped;
}

const LEFT = /[!'()*]/;
const ALL_LEFT = /[!'()*]/g;
const escapeOne = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/** The URL of a bucket, and the scope of signatures for it. */
export interface BucketEndpoint {
  /** Scheme, host and port, without a trailing `/`. */
  readonly origin: string;
  /** The encoded path of the bucket, with a trailing `/`. The path of an object is this path and its key. */
  readonly path: string;
  readonly region: string;
  readonly service: string;
}

/**
 * Returns the endpoint of the bucket. Presigns a sample URL, because only the AWS SDK client knows the hosts of all
 * regions and addressing styles. Sends no request. Throws `unavailable` for a directory bucket.
 */
export async function findEndpoint(client: S3Client, bucket: string): Promise<BucketEndpoint> {
  // Directory buckets require session credentials that are valid for minutes. Holdall does not support them.
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
  return new StoreError('store-misconfigured', message, { retryAfter: RETRY_LATER_SECONDS });
}
