import { Readable } from 'node:stream';
import { isStoreError, type StoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { Cancellable } from '../../model/store.ts';
import { versionReplaced } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import { codeOf, notAnObjectStore, partMismatch } from './errors.ts';
import type { Key } from './keys.ts';
import { type Attributes, attributesOf, getObject, headObject, type ObjectHead } from './operations.ts';

/** The version of an object to copy. Stores that support conditions on copy sources copy no other version. */
export interface Source {
  readonly key: Key;
  readonly size: number;
  /** Without quotes. */
  readonly etag: string;
  /** The id of an object version; undefined for the current one. */
  readonly versionId?: string | undefined;
}

/** Returns the metadata of the source. Throws `condition-failed` if it has another version. */
export async function requireVersion(bucket: Bucket, source: Source, options: Cancellable): Promise<ObjectHead> {
  const head = await headObject(bucket, source.key, { ...options, versionId: source.versionId });
  if (head.etag !== source.etag) throw versionReplaced(source.key as FilePath);
  return head;
}

/**
 * Sends a copy request for this version of the source. Does not abort a running copy: the store would continue it and
 * create an object or a part after the caller has cleaned up.
 *
 * Some stores return 412 for large objects although the condition on the source holds. In this case, or if the store
 * does not support the condition, Holdall checks the source and then copies it unconditionally. If the source changes
 * in between, the store copies the new version. Callers detect that by the ETag of the copy.
 *
 * @param isConditional whether the request also has a condition on the destination
 */
export async function sendForVersion<Output>(
  bucket: Bucket,
  source: Source,
  { isConditional, signal }: { isConditional: boolean } & Cancellable,
  send: (sourceIfMatch: string | undefined) => Promise<Output>,
): Promise<Output> {
  signal?.throwIfAborted();
  const { capabilities } = bucket;
  const capability = source.etag.includes('-') ? 'sourceConditionsOnParts' : 'sourceConditions';
  let rejection: StoreError | undefined;
  if (capabilities.has(capability)) {
    try {
      const output = await send(source.etag);
      capabilities.confirm(capability);
      return output;
    } catch (error) {
      const isUnsupported = !isConditional && isStoreError(error, 'unsupported');
      if (!isUnsupported && !isStoreError(error, 'condition-failed')) throw error;
      rejection = error;
    }
  }
  const { key, versionId } = source;
  const current = await undefinedIfNotFound(headObject(bucket, key, { versionId, signal }));
  if (current?.etag !== source.etag) throw rejection ?? versionReplaced(source.key as FilePath);
  const output = await send(undefined).catch((error: unknown) => {
    // Without the condition on the source, the request fails in the same way: another condition failed.
    throw rejection && isStoreError(error, rejection.kind) ? rejection : error;
  });
  capabilities.markMissing(capability, { code: codeOf(rejection?.cause) });
  return output;
}

/**
 * Reads this version of the source, or a range of it, and verifies the response. The store might ignore conditions or
 * ranges, and a proxy might respond with its own page. A move deletes the source, so only the wrong bytes would remain.
 */
export async function readSource(
  bucket: Bucket,
  source: Source,
  range: string | undefined,
  { signal }: Cancellable,
): Promise<{ bytes: Buffer; head: ObjectHead }> {
  const { key, etag, size, versionId } = source;
  const options = { range, ifMatch: etag, versionId, maxBytes: size, isStreamed: false, signal };
  const { head, body } = await getObject(bucket, key, options);
  if (body instanceof Readable) throw new Error('The body of the copy source is a stream.');
  if (head.etag !== etag) throw versionReplaced(key as FilePath);
  const expectedRange = range === undefined ? undefined : `${range.replace('=', ' ')}/${size}`;
  if (head.headers['content-range'] !== expectedRange) throw partMismatch(bucket.endpoint);
  if (range === undefined && body.length !== size) throw notAnObjectStore(bucket.endpoint);
  return { bytes: body, head };
}

/**
 * Metadata of a copy: the ETag of the source, and the time of the copy (seconds since 1970). Copies of multipart or
 * encrypted objects have a different ETag, and a resumed move must recognize its copies.
 */
const COPY_OF_HEADER = 'x-amz-meta-holdall-copy-of';

/** Returns the attributes of a copy: those of the source, and metadata that records the ETag of the source. */
export function labelledAttributes(head: ObjectHead, etag: string): Attributes {
  return { ...attributesOf(head), [COPY_OF_HEADER]: `${etag} ${Math.floor(Date.now() / 1000)}` };
}

/** Returns whether an object has the content of this ETag: it has the same ETag, or its metadata records it. */
export function isCopyOfVersion({ etag, headers, modified }: ObjectHead, sourceEtag: string): boolean {
  if (sourceEtag === '') return false;
  if (etag === sourceEtag) return true;
  const [copyOf, time] = String(headers[COPY_OF_HEADER] ?? '').split(' ');
  const age = (modified?.getTime() ?? Number.NaN) / 1000 - Number(time);
  return copyOf === sourceEtag && age >= -MAX_CLOCK_SKEW_SECONDS && age <= MAX_COPY_SECONDS;
}

/**
 * Maximum seconds by which the object's modification time can be before or after the time in the metadata. Otherwise,
 * another program has changed the content and preserved the metadata. Before: the permitted clock skew (AWS Signature
 * Version 4: 15 minutes). After: the maximum duration of a copy.
 */
const MAX_CLOCK_SKEW_SECONDS = 900;
const MAX_COPY_SECONDS = 24 * 3600;
