import { createHash } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  type CompleteMultipartUploadCommandInput,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
} from '@aws-sdk/client-s3';
import { concurrently } from '../../domain/concurrently.ts';
import { isStoreError, StoreError } from '../../domain/error.ts';
import type { Cancellable } from '../../domain/store.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, sendConditionally, writeAbility } from './conditions.ts';
import { type Key, unquote } from './keys.ts';
import { MAX_PARTS } from './parts.ts';
import { lookAt } from './read.ts';
import { LONG } from './time-outs.ts';
import { codeOf, noStore, wasSentBefore } from './translate.ts';

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
    const { ETag, Key, Location } = await bucket.ask({ key, timeout: LONG }, (options) =>
      bucket.client.send(command, options),
    );
    if (ETag) return unquote(ETag);
    // A success that names no object is of a proxy.
    if (Key === undefined && Location === undefined) throw noStore(bucket.endpoint);
    return etagOfParts(parts);
  } catch (error) {
    if (!isDone(error)) throw error;
    const present = await lookAt(bucket, key, {}).catch(() => undefined);
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
  if (!(error instanceof Error) || !wasSentBefore(error.cause)) return false;
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
