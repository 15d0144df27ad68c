import { createHash, createHmac, hash } from 'node:crypto';
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { StoreError } from '../../model/error.ts';
import { RETRY_LATER_SECONDS } from '../network.ts';

/** A key of the store, and what its signatures are for. */
export interface Signing {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  readonly service: string;
}

/** A request as it will stand on the wire. */
export interface Signable {
  readonly method: string;
  /** Escaped, each byte of it once. */
  readonly path: string;
  readonly query: Query;
  /** By their names in lower case, `host` among them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Parameters by their names, neither of them escaped; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | undefined>>;

/**
 * Signs requests as "AWS Signature Version 4" has it, in the form for S3: paths are escaped once and never normalised.
 * The client does the same in ten times the time, much of it for what no request of ours has.
 */
export interface Signer {
  /** The headers of the request with those that sign it, as of `time` (milliseconds since 1970). Nothing else may be sent. */
  sign(request: Signable, payloadHash: string, time: number): Record<string, string>;
  /** The query by which the request is signed for so many seconds from `time` on, for whoever has it. */
  presign(request: Signable, expires: number, time: number): string;
}

/** The hash of a request without a body. */
export const EMPTY_HASH = createHash('sha256').digest('hex');

export function createSigner({ accessKeyId, secretAccessKey, region, service }: Signing): Signer {
  let day = '';
  let keyOfDay = Buffer.alloc(0);

  /** One for all requests of a day: making it costs as much as all else. */
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

/** `20260131T235959Z`. */
const momentOf = (time: number) => `${new Date(time).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;

/** The parameters in the order of their escaped names, as they are sent and signed. */
export function queryString(query: Query): string {
  const escaped: string[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) escaped.push(`${escapeText(name)}=${escapeText(value)}`);
  }
  // "=" sorts behind "-" and the digits; so whole names have to be compared where one is the beginning of another.
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

/** Escapes all but the unreserved characters of RFC 3986, section 2.3; `encodeURIComponent` leaves some more. */
export function escapeText(text: string): string {
  const escaped = encodeURIComponent(text);
  return LEFT.test(escaped) ? escaped.replaceAll(ALL_LEFT, escapeOne) : escaped;
}

const LEFT = /[!'()*]/;
const ALL_LEFT = /[!'()*]/g;
const escapeOne = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/** Where a bucket is, and what requests to it are signed for. */
export interface BucketEndpoint {
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
export async function findEndpoint(client: S3Client, bucket: string): Promise<BucketEndpoint> {
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
  return new StoreError('unavailable', message, { retryAfter: RETRY_LATER_SECONDS });
}
