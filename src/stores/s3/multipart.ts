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

/** What an object is stored with beside its bytes: type, metadata and the like. */
export type Attributes = Omit<CreateMultipartUploadCommandInput, 'Bucket' | 'Key'>;

export interface PartsUpload<Part> extends Cancellable {
  readonly attributes: Attributes;
  readonly parts: AsyncIterable<Part>;
  readonly inFlight: number;
  /** Sends one part, numbered from 1, and gives its etag. */
  send(part: Part, place: { UploadId: string; PartNumber: number }): Promise<string | undefined>;
  /** Called when all parts are sent, before they become the object; throws unless they may, under `condition` too. */
  verify(): Promise<void>;
  readonly condition: ConditionHeaders;
}

/** Makes an object of parts: all of it or, on any failure, nothing, not even parts. Gives its etag. */
export async function uploadParts<Part>(
  bucket: Bucket,
  key: Key,
  upload: PartsUpload<Part>,
): Promise<string | undefined> {
  const { signal } = upload;
  const object = { Bucket: bucket.name, Key: key };
  signal?.throwIfAborted();
  // Waited for, as the completion: the store would go on with it after its caller has left.
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

/** Makes the parts the object, and gives its etag, whether the answer has it (Ceph 16 leaves it out) or is lost. */
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
    // A success that names no object is of a proxy.
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
 * Whether a completion may have been done before it failed: it was sent more than once, and the store knows the upload
 * no more, or finds what it made in the way of its condition.
 */
function isDone(error: unknown): boolean {
  if (!(error instanceof Error) || !wasRetried(error.cause)) return false;
  return isStoreError(error, 'condition-failed') || codeOf(error.cause) === 'NoSuchUpload';
}

/** The etag of an object that was made of parts: the MD5 of theirs, and how many they were (Amazon S3, Ceph, R2). */
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
    'too-large',
    'The upload did not say how long it is, and is longer than 156 GiB: send it with Content-Length.',
  );
}

/** Gives up what was sent. Parts that stay because this fails as well are for a rule of the bucket to clear away. */
async function abort(bucket: Bucket, key: Key, UploadId: string): Promise<void> {
  const command = new AbortMultipartUploadCommand({ Bucket: bucket.name, Key: key, UploadId });
  await bucket
    .ask({ key }, (options) => bucket.client.send(command, options))
    .catch((error: unknown) => {
      // Completed or given up already, by a request whose answer was lost.
      if (isStoreError(error, 'not-found')) return;
      bucket.warn('An upload in parts could not be given up: its parts stay in the bucket.', {
        key,
        UploadId,
        err: error,
      });
    });
}

const MIB = 2 ** 20;

/** The most parts of one upload, on every store (Amazon S3, "multipart upload limits"). */
export const MAX_PARTS = 10_000;

/** A file below this many bytes goes in one request. */
const LEAST_PART = 8 * MIB;

/** Where nobody says how much will come: parts that suffice for 156 GiB. */
const PART_OF_UNKNOWN = 16 * MIB;

/** The most parts under way at once, and the bytes that they may hold in memory together. */
const MOST_IN_FLIGHT = 4;
const BUDGET = 32 * MIB;

/** The largest object of any store that is known (Amazon S3, R2: 5 TiB). */
const MOST = 5 * 2 ** 40;

export interface PartPlan {
  /** Bytes of every part but the last: R2 wants them equal. */
  readonly partSize: number;
  readonly inFlight: number;
}

/**
 * How a body of at most so many bytes is cut, so that 10,000 equal parts suffice. `too-large` for more than any store
 * takes.
 */
export function planParts(sizeAtMost: number | undefined, least = LEAST_PART): PartPlan {
  if (sizeAtMost !== undefined && sizeAtMost > MOST) {
    throw new StoreError('too-large', `The file is larger than the ${MOST} bytes (5 TiB) that object stores take.`);
  }
  const needed = sizeAtMost === undefined ? PART_OF_UNKNOWN : Math.ceil(sizeAtMost / MAX_PARTS / MIB) * MIB;
  const partSize = Math.max(least, needed);
  return { partSize, inFlight: Math.max(1, Math.min(MOST_IN_FLIGHT, Math.floor(BUDGET / partSize))) };
}

/** The parts of a body, each in a buffer that is used again when it is given back: so memory stays flat. */
export interface Cutter {
  /** The bytes of the body in parts of the planned size, the last one shorter; none for an empty body. */
  readonly parts: AsyncGenerator<Buffer>;
  /** Takes a part back that nobody reads any more. */
  giveBack(part: Buffer): void;
  /** Bytes that have come so far. */
  size(): number;
}

/** Cuts a body that is said to have at most `expected` bytes. */
export function cut(body: Readable, partSize: number, expected = partSize): Cutter {
  const free: ArrayBufferLike[] = [];
  let size = 0;
  const take = () => Buffer.from(free.pop() ?? Buffer.allocUnsafeSlow(partSize).buffer);

  const parts = async function* () {
    // A small file takes no more memory than it needs, unless more comes than was said.
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

/** The parts that a copy of so many bytes is made of: each `bytes=first-last` of the source. */
export function rangesOf(size: number, partSize: number): string[] {
  return Array.from({ length: Math.ceil(size / partSize) }, (_, index) => {
    const start = index * partSize;
    return `bytes=${start}-${Math.min(start + partSize, size) - 1}`;
  });
}

/** What an object has beside its bytes, and what it is a copy of, if that has to be kept. */
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

/** Whether an object holds the bytes of one with this etag: it has the same one, or says that it is a copy of it. */
export function isMadeOf({ ETag, Metadata, LastModified }: HeadObjectCommandOutput, etag: string): boolean {
  if (etag === '') return false;
  if (unquote(ETag) === etag) return true;
  const [copyOf, time] = Metadata?.[COPIED_FROM]?.split(' ') ?? [];
  const age = (LastModified?.getTime() ?? Number.NaN) / 1000 - Number(time);
  return copyOf === etag && age >= -BEFORE && age <= AFTER;
}

/**
 * Metadata of a copy: the etag of what it was copied from, and when (seconds since 1970). Stores give a copy another
 * etag where an object was made of parts or is encrypted, and a move that was interrupted has to know its copies again.
 */
const COPIED_FROM = 'holdall-copy-of';

/**
 * Seconds before and after the time in that metadata in which the object itself must have come about: a program that
 * changes the bytes later, and keeps the metadata, makes another object. Before: what clocks may differ by (AWS
 * Signature Version 4 allows 15 minutes); after: what a copy may take.
 */
const [BEFORE, AFTER] = [900, 24 * 3600];

/** A header's value as text: Node gives its bytes as a character each, and they are UTF-8 where they are not ASCII. */
function fromHeader<Value extends string | undefined>(value: Value): Value {
  return (value === undefined ? value : Buffer.from(value, 'latin1').toString('utf8')) as Value;
}
