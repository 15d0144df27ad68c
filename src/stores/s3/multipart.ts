import { createHash } from 'node:crypto';
import { concurrently } from '../../concurrency/concurrently.ts';
import { isStoreError, StoreError } from '../../model/error.ts';
import type { Cancellable } from '../../model/store.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, sendConditionally, writeCapability } from './capabilities.ts';
import { codeOf, wasRetried } from './errors.ts';
import type { Key } from './keys.ts';
import {
  type Attributes,
  abortMultipartUpload,
  completeMultipartUpload,
  createMultipartUpload,
  headObject,
  type PartNumber,
} from './operations.ts';

export interface PartsUpload<Part> extends Cancellable {
  readonly attributes: Attributes;
  readonly parts: AsyncIterable<Part>;
  readonly maxConcurrent: number;
  /** Sends one part, numbered from 1, and returns its ETag. */
  send(part: Part, number: PartNumber): Promise<string>;
  /** Called after the last part. Completes the upload, and returns the result. */
  finish(complete: (completion: Completion) => Promise<string>): Promise<string>;
}

/** How to complete a multipart upload. */
export interface Completion {
  readonly condition: ConditionHeaders;
  /** Called right before the completion. Throws if the upload is invalid or `condition` does not hold. */
  verify(): Promise<void>;
}

/** Creates an object by a multipart upload, and returns its ETag. On failure, aborts the upload and its parts. */
export async function uploadParts<Part>(bucket: Bucket, key: Key, upload: PartsUpload<Part>): Promise<string> {
  const { signal, attributes } = upload;
  signal?.throwIfAborted();
  // `signal` does not abort this request or the completion: the store would still execute them.
  const uploadId = await createMultipartUpload(bucket, key, attributes);
  try {
    const parts = await sendParts(upload, uploadId);
    return await upload.finish((completion) => completeParts(bucket, key, { uploadId, parts, signal }, completion));
  } catch (error) {
    await abortParts(bucket, key, uploadId);
    throw error;
  }
}

export interface CompletedPart {
  readonly partNumber: number;
  readonly etag: string;
}

/** A multipart upload that has all of its parts. */
export interface SentParts extends Cancellable {
  readonly uploadId: string;
  readonly parts: readonly CompletedPart[];
}

/** Completes a multipart upload under a condition, in the form that the store understands. Returns the ETag. */
export async function completeParts(
  bucket: Bucket,
  key: Key,
  { uploadId, parts, signal }: SentParts,
  { condition, verify }: Completion,
): Promise<string> {
  await verify();
  signal?.throwIfAborted();
  return sendConditionally(bucket.capabilities, writeCapability('complete', condition), condition, {
    check: verify,
    send: (headers) => complete(bucket, key, parts, { uploadId, condition: headers }),
  });
}

/** Completes the upload and returns the ETag, even if the response lacks it (Ceph 16) or is lost. */
async function complete(
  bucket: Bucket,
  key: Key,
  parts: readonly CompletedPart[],
  completion: { uploadId: string; condition: ConditionHeaders },
): Promise<string> {
  try {
    return (await completeMultipartUpload(bucket, key, parts, completion)) || etagOfParts(parts);
  } catch (error) {
    if (!mayBeComplete(error)) throw error;
    const present = await headObject(bucket, key, {}).catch(() => undefined);
    if (present?.etag !== etagOfParts(parts)) throw error;
    return present.etag;
  }
}

/**
 * Returns whether a failed completion might have succeeded at an earlier attempt. It was retried, and either the upload
 * no longer exists, or the new object fails the condition.
 */
function mayBeComplete(error: unknown): boolean {
  if (!(error instanceof Error) || !wasRetried(error.cause)) return false;
  return isStoreError(error, 'condition-failed') || isNoSuchUpload(error);
}

/** Returns whether a request failed because the multipart upload does not exist, or no longer. */
export const isNoSuchUpload = (error: unknown): boolean =>
  error instanceof Error && codeOf(error.cause) === 'NoSuchUpload';

/** Returns the ETag of a multipart object: the MD5 of its parts' MD5s, and their number (Amazon S3, Ceph, R2). */
export function etagOfParts(parts: readonly CompletedPart[]): string {
  const digests = parts.map(({ etag }) => Buffer.from(etag, 'hex'));
  return `${createHash('md5').update(Buffer.concat(digests)).digest('hex')}-${parts.length}`;
}

async function sendParts<Part>(upload: PartsUpload<Part>, uploadId: string): Promise<CompletedPart[]> {
  const completed: CompletedPart[] = [];
  const numbered = async function* () {
    let partNumber = 0;
    for await (const part of upload.parts) yield { part, partNumber: ++partNumber };
  };
  await concurrently(
    numbered(),
    upload.maxConcurrent,
    async ({ part, partNumber }) => {
      if (partNumber > MAX_PARTS) throw tooManyParts();
      completed.push({ partNumber, etag: await upload.send(part, { uploadId, partNumber }) });
    },
    upload.signal,
  );
  return completed.toSorted((left, right) => left.partNumber - right.partNumber);
}

/** Returns the error for an upload of unknown size with more than `MAX_PARTS` parts. */
export function tooManyParts(): StoreError {
  return new StoreError(
    'too-large-for-store',
    'The upload has no Content-Length and is larger than 156 GiB. Send it with Content-Length.',
  );
}

/** Aborts the upload. If that fails, the orphaned parts remain until a lifecycle rule of the bucket removes them. */
export async function abortParts(bucket: Bucket, key: Key, uploadId: string): Promise<void> {
  try {
    await abortMultipartUpload(bucket, key, uploadId);
  } catch (error) {
    // The upload was completed or aborted by a request whose response was lost.
    if (isStoreError(error, 'not-found') || isNoSuchUpload(error)) return;
    bucket.warn('A multipart upload could not be aborted: its parts remain in the bucket.', {
      key,
      uploadId,
      err: error,
    });
  }
}

const MIB = 2 ** 20;

/** Maximum parts of one upload, on every store (Amazon S3, "multipart upload limits"). */
export const MAX_PARTS = 10_000;

/** How many times as large parts are if the size of the body is unknown: 10,000 parts of 16 MiB hold 156 GiB. */
const GROWTH_OF_UNKNOWN_SIZE = 2;

/** Maximum parts in progress, and the total bytes that they may hold in memory. */
const MAX_CONCURRENT_PARTS = 4;
const MAX_BUFFERED_BYTES = 32 * MIB;

/** Maximum bytes of an object on any known store (Amazon S3, R2: 5 TiB). */
const MAX_OBJECT_BYTES = 5 * 2 ** 40;

export interface PartPlan {
  /** Bytes of every part except the last. R2 requires equal parts. */
  readonly partSize: number;
  readonly maxConcurrent: number;
}

/**
 * Plans the parts of a body of at most `maxSize` bytes, so that 10,000 equal parts suffice. Throws `too-large` if no
 * store accepts an object of this size.
 */
export function planParts(maxSize: number | undefined, minPartSize: number): PartPlan {
  if (maxSize !== undefined && maxSize > MAX_OBJECT_BYTES) {
    const message = `The file is larger than ${MAX_OBJECT_BYTES} bytes (5 TiB), the limit of object stores.`;
    throw new StoreError('too-large-for-store', message);
  }
  const needed =
    maxSize === undefined ? GROWTH_OF_UNKNOWN_SIZE * minPartSize : Math.ceil(maxSize / MAX_PARTS / MIB) * MIB;
  const partSize = Math.max(minPartSize, needed);
  return { partSize, maxConcurrent: maxConcurrentParts(partSize) };
}

/** Returns how many parts of this size may be in progress. */
export function maxConcurrentParts(partSize: number): number {
  return Math.max(1, Math.min(MAX_CONCURRENT_PARTS, Math.floor(MAX_BUFFERED_BYTES / partSize)));
}

/** Splits a body into parts. Recycled buffers keep memory constant. */
export interface PartSplitter {
  /** Parts of the planned size; the last one can be shorter. An empty body has no parts. */
  readonly parts: AsyncGenerator<Buffer>;
  /** Recycles the buffer of a part. Call it after the last read. */
  recycle(part: Buffer): void;
  /** Returns the number of bytes received so far. */
  size(): number;
}

/** Bytes of the first buffer of a body of unknown size. */
const FIRST_BUFFER_BYTES = 64 * 1024;
/** How many times as large the first buffer becomes when it is full. */
const GROWTH = 4;

/** Splits a body into parts of `partSize` bytes. `expectedSize` is its declared maximum size in bytes. */
export function splitIntoParts(
  body: AsyncIterable<Buffer>,
  partSize: number,
  expectedSize = FIRST_BUFFER_BYTES,
): PartSplitter {
  const free: ArrayBufferLike[] = [];
  let size = 0;
  const allocate = () => Buffer.from(free.pop() ?? Buffer.allocUnsafeSlow(partSize).buffer);

  const parts = async function* () {
    // The first buffer has the declared size or grows with the body, so a small file needs little memory.
    let part: Buffer = Buffer.allocUnsafeSlow(Math.min(partSize, expectedSize));
    let filled = 0;
    for await (const chunk of body) {
      for (let start = 0; start < chunk.length; ) {
        if (filled === partSize) {
          yield part;
          [part, filled] = [allocate(), 0];
        } else if (filled === part.length) {
          part = enlarge(part, Math.min(partSize, Math.max(part.length * GROWTH, FIRST_BUFFER_BYTES)));
        }
        const copied = chunk.copy(part, filled, start);
        start += copied;
        filled += copied;
        size += copied;
      }
    }
    if (filled > 0) yield part.subarray(0, filled);
  };

  return { parts: parts(), recycle: (part) => void free.push(part.buffer), size: () => size };
}

/** Returns a buffer of this size that begins with the given bytes. */
function enlarge(bytes: Buffer, size: number): Buffer {
  const enlarged = Buffer.allocUnsafeSlow(size);
  bytes.copy(enlarged);
  return enlarged;
}

/** Returns the ranges of the source that a copy in parts consists of, each as `bytes=first-last`. */
export function rangesOf(size: number, partSize: number): string[] {
  return Array.from({ length: Math.ceil(size / partSize) }, (_, index) => {
    const start = index * partSize;
    return `bytes=${start}-${Math.min(start + partSize, size) - 1}`;
  });
}
