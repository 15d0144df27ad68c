import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  type CompleteMultipartUploadCommandInput,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  type GetObjectCommandOutput,
  type HeadObjectCommandOutput,
} from '@aws-sdk/client-s3';
import { concurrently } from '../../concurrency/concurrently.ts';
import { isStoreError, StoreError } from '../../model/error.ts';
import type { Cancellable } from '../../model/store.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, sendConditionally, writeAbility } from './conditions.ts';
import { LONG_TIMEOUT_MS } from './connection.ts';
import { codeOf, noStore, wasRetried } from './errors.ts';
import { type Key, unquote } from './keys.ts';
import { headObject } from './read.ts';

/** The attributes of an object besides its content, such as media type and metadata. */
export type Attributes = Omit<CreateMultipartUploadCommandInput, 'Bucket' | 'Key'>;

export interface PartsUpload<Part> extends Cancellable {
  readonly attributes: Attributes;
  readonly parts: AsyncIterable<Part>;
  readonly inFlight: number;
  /** Sends one part, numbered from 1, and returns its ETag. */
  send(part: Part, place: { UploadId: string; PartNumber: number }): Promise<string | undefined>;
  /** Called between the last part and the completion. Throws if the upload is invalid or `condition` does not hold. */
  verify(): Promise<void>;
  readonly condition: ConditionHeaders;
}

/** Creates an object by a multipart upload, and returns its ETag. On failure, aborts the upload and its parts. */
export async function uploadParts<Part>(
  bucket: Bucket,
  key: Key,
  upload: PartsUpload<Part>,
): Promise<string | undefined> {
  const { signal } = upload;
  const object = { Bucket: bucket.name, Key: key };
  signal?.throwIfAborted();
  // `signal` does not abort this request or the completion: the store would still execute them.
  const { UploadId } = await bucket.ask({ key }, (options) =>
    bucket.client.send(new CreateMultipartUploadCommand({ ...object, ...upload.attributes }), options),
  );
  if (!UploadId) throw noStore(bucket.endpoint);
  try {
    const Parts = await sendParts(upload, UploadId);
    await upload.verify();
    signal?.throwIfAborted();
    return await sendConditionally(bucket, writeAbility('complete', upload.condition), upload.condition, {
      check: () => upload.verify(),
      send: (condition) => complete(bucket, key, { UploadId, MultipartUpload: { Parts }, ...condition }, Parts),
    });
  } catch (error) {
    await abort(bucket, key, UploadId);
    throw error;
  }
}

/** Completes the upload and returns the ETag, even if the response lacks it (Ceph 16) or is lost. */
async function complete(
  bucket: Bucket,
  key: Key,
  completion: Omit<CompleteMultipartUploadCommandInput, 'Bucket' | 'Key'>,
  parts: readonly CompletedPart[],
): Promise<string> {
  const command = new CompleteMultipartUploadCommand({ Bucket: bucket.name, Key: key, ...completion });
  try {
    const { ETag, Key, Location } = await bucket.ask({ key, timeout: LONG_TIMEOUT_MS }, (options) =>
      bucket.client.send(command, options),
    );
    if (ETag) return unquote(ETag);
    // A 200 response that names no object is from a proxy.
    if (Key === undefined && Location === undefined) throw noStore(bucket.endpoint);
    return etagOfParts(parts);
  } catch (error) {
    if (!isDone(error)) throw error;
    const present = await headObject(bucket, key, {}).catch(() => undefined);
    const etag = unquote(present?.ETag);
    if (etag !== etagOfParts(parts)) throw error;
    return etag;
  }
}

/**
 * Returns whether a failed completion may have succeeded at an earlier attempt. It was retried, and either the upload
 * no longer exists, or the new object fails the condition.
 */
function isDone(error: unknown): boolean {
  if (!(error instanceof Error) || !wasRetried(error.cause)) return false;
  return isStoreError(error, 'condition-failed') || codeOf(error.cause) === 'NoSuchUpload';
}

/** Returns the ETag of a multipart object: the MD5 of its parts' MD5s, and their number (Amazon S3, Ceph, R2). */
function etagOfParts(parts: readonly CompletedPart[]): string {
  const digests = parts.map(({ ETag }) => Buffer.from(unquote(ETag), 'hex'));
  return `${createHash('md5').update(Buffer.concat(digests)).digest('hex')}-${parts.length}`;
}

async function sendParts<Part>(upload: PartsUpload<Part>, UploadId: string): Promise<CompletedPart[]> {
  const sent: CompletedPart[] = [];
  const numbered = async function* () {
    let PartNumber = 0;
    for await (const part of upload.parts) yield { part, PartNumber: ++PartNumber };
  };
  await concurrently(
    numbered(),
    upload.inFlight,
    async ({ part, PartNumber }) => {
      if (PartNumber > MAX_PARTS) throw tooManyParts();
      sent.push({ PartNumber, ETag: await upload.send(part, { UploadId, PartNumber }) });
    },
    upload.signal,
  );
  return sent.toSorted((left, right) => (left.PartNumber ?? 0) - (right.PartNumber ?? 0));
}

function tooManyParts(): StoreError {
  return new StoreError(
    'too-large-for-store',
    'The upload did not say how long it is, and is longer than 156 GiB: send it with Content-Length.',
  );
}

/** Aborts the upload. If that fails, the orphaned parts remain until a lifecycle rule of the bucket removes them. */
async function abort(bucket: Bucket, key: Key, UploadId: string): Promise<void> {
  const command = new AbortMultipartUploadCommand({ Bucket: bucket.name, Key: key, UploadId });
  await bucket
    .ask({ key }, (options) => bucket.client.send(command, options))
    .catch((error: unknown) => {
      // The upload was completed or aborted by a request whose response was lost.
      if (isStoreError(error, 'not-found')) return;
      bucket.warn('An upload in parts could not be given up: its parts stay in the bucket.', {
        key,
        UploadId,
        err: error,
      });
    });
}

const MIB = 2 ** 20;

/** Maximum parts of one upload, on every store (Amazon S3, "multipart upload limits"). */
export const MAX_PARTS = 10_000;

/** Minimum bytes of a part. A smaller file is sent in one request. */
const LEAST_PART = 8 * MIB;

/** Bytes of a part if the size of the body is unknown: 10,000 parts then hold 156 GiB. */
const PART_OF_UNKNOWN = 16 * MIB;

/** Maximum parts in progress, and the total bytes that they may hold in memory. */
const MOST_IN_FLIGHT = 4;
const BUDGET = 32 * MIB;

/** Maximum bytes of an object on any known store (Amazon S3, R2: 5 TiB). */
const MOST = 5 * 2 ** 40;

export interface PartPlan {
  /** Bytes of every part except the last. R2 requires equal parts. */
  readonly partSize: number;
  readonly inFlight: number;
}

/**
 * Plans the parts of a body of at most `maxSize` bytes, so that 10,000 equal parts suffice. Throws `too-large` if no
 * store accepts an object of this size.
 */
export function planParts(maxSize: number | undefined, least = LEAST_PART): PartPlan {
  if (maxSize !== undefined && maxSize > MOST) {
    throw new StoreError(
      'too-large-for-store',
      `The file is larger than the ${MOST} bytes (5 TiB) that object stores take.`,
    );
  }
  const needed = maxSize === undefined ? PART_OF_UNKNOWN : Math.ceil(maxSize / MAX_PARTS / MIB) * MIB;
  const partSize = Math.max(least, needed);
  return { partSize, inFlight: Math.max(1, Math.min(MOST_IN_FLIGHT, Math.floor(BUDGET / partSize))) };
}

/** Splits a body into parts. Recycled buffers keep memory constant. */
export interface Cutter {
  /** Parts of the planned size; the last one can be shorter. An empty body has no parts. */
  readonly parts: AsyncGenerator<Buffer>;
  /** Recycles the buffer of a part. Call it after the last read. */
  giveBack(part: Buffer): void;
  /** Returns the number of bytes received so far. */
  size(): number;
}

/** Splits a body into parts of `partSize` bytes. `expected` is its declared maximum size in bytes. */
export function cut(body: Readable, partSize: number, expected = partSize): Cutter {
  const free: ArrayBufferLike[] = [];
  let size = 0;
  const take = () => Buffer.from(free.pop() ?? Buffer.allocUnsafeSlow(partSize).buffer);

  const parts = async function* () {
    // The first buffer has the declared size, so a small file needs little memory. It grows if more bytes arrive.
    let part: Buffer = Buffer.allocUnsafeSlow(Math.min(partSize, expected));
    let filled = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      for (let start = 0; start < chunk.length; ) {
        if (filled === partSize) {
          yield part;
          [part, filled] = [take(), 0];
        } else if (filled === part.length) {
          part = Buffer.concat([part], partSize);
        }
        const copied = chunk.copy(part, filled, start);
        start += copied;
        filled += copied;
        size += copied;
      }
    }
    if (filled > 0) yield part.subarray(0, filled);
  };

  return { parts: parts(), giveBack: (part) => void free.push(part.buffer), size: () => size };
}

/** Returns the ranges of the source that a copy in parts consists of, each as `bytes=first-last`. */
export function rangesOf(size: number, partSize: number): string[] {
  return Array.from({ length: Math.ceil(size / partSize) }, (_, index) => {
    const start = index * partSize;
    return `bytes=${start}-${Math.min(start + partSize, size) - 1}`;
  });
}

/**
 * Returns the attributes of an object for its copy. If `copyOf` is defined, the metadata records it as the ETag of the
 * source.
 */
export function attributesOf(
  described: HeadObjectCommandOutput | GetObjectCommandOutput,
  copyOf: string | undefined,
): Attributes {
  const { CacheControl, ContentDisposition, ContentEncoding, ContentLanguage, ContentType, Expires } = described;
  const given = Object.entries(described.Metadata ?? {}).map(([name, value]) => [name, fromHeader(value)]);
  const label = copyOf !== undefined && { [COPIED_FROM]: `${copyOf} ${Math.floor(Date.now() / 1000)}` };
  return {
    CacheControl: fromHeader(CacheControl),
    ContentDisposition: fromHeader(ContentDisposition),
    ContentEncoding,
    ContentLanguage: fromHeader(ContentLanguage),
    ContentType: fromHeader(ContentType),
    Expires,
    Metadata: { ...Object.fromEntries(given), ...label },
  };
}

/** Returns whether an object has the content of this ETag: it has the same ETag, or its metadata records it. */
export function isMadeOf({ ETag, Metadata, LastModified }: HeadObjectCommandOutput, etag: string): boolean {
  if (etag === '') return false;
  if (unquote(ETag) === etag) return true;
  const [copyOf, time] = Metadata?.[COPIED_FROM]?.split(' ') ?? [];
  const age = (LastModified?.getTime() ?? Number.NaN) / 1000 - Number(time);
  return copyOf === etag && age >= -BEFORE && age <= AFTER;
}

/**
 * Metadata of a copy: the ETag of the source, and the time of the copy (seconds since 1970). Copies of multipart or
 * encrypted objects have a different ETag, and a resumed move must recognize its copies.
 */
const COPIED_FROM = 'holdall-copy-of';

/**
 * Maximum seconds by which the object's modification time can be before or after the time in the metadata. Otherwise,
 * another program has changed the content and preserved the metadata. Before: the permitted clock skew (AWS Signature
 * Version 4: 15 minutes). After: the maximum duration of a copy.
 */
const [BEFORE, AFTER] = [900, 24 * 3600];

/** Decodes a header value as UTF-8. Node.js returns one character per byte. */
function fromHeader<Value extends string | undefined>(value: Value): Value {
  return (value === undefined ? value : Buffer.from(value, 'latin1').toString('utf8')) as Value;
}
