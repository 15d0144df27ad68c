import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { PutObjectCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { isStoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { FileEntry, Store, WriteCondition } from '../../model/store.ts';
import { preconditionFailed, requireCondition, requireSize, versionReplaced } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, sendConditionally, writeAbility } from './conditions.ts';
import { LONG_TIMEOUT_MS } from './connection.ts';
import type { Entries } from './entries.ts';
import { requireStored, wasRetried } from './errors.ts';
import { quote } from './keys.ts';
import { cut, planParts, uploadParts } from './multipart.ts';

/** Creates the write operation. Writes a small file in one request, and a larger one in parts while it arrives. */
export function createWriter(bucket: Bucket, entries: Entries, stat: Store['stat']): Store['write'] {
  /**
   * Whether conditions of writes contain ETags without quotes. Ceph 16 rejects quoted ETags, which RFC 9110 requires.
   */
  let bareEtags = false;

  const headersOf = (condition: WriteCondition | undefined): ConditionHeaders => {
    if (condition === undefined) return {};
    if (condition === 'absent') return { IfNoneMatch: '*' };
    return { IfMatch: bareEtags ? condition.etag : quote(condition.etag) };
  };

  const putWhole = (file: FilePath, bytes: Buffer, type: string, { condition, signal }: WriteOptions) => {
    const ifHolds = headersOf(condition);
    return sendConditionally(bucket, writeAbility('put', ifHolds), ifHolds, {
      check: () => requireNow(file, condition, () => stat(file, { signal })),
      send: (headers) => putUnder(headers, { file, bytes, type, condition, signal }),
    });
  };

  const putUnder = async (
    headers: ConditionHeaders,
    { file, bytes, type, condition, signal }: WholeFile,
  ): Promise<string | undefined> => {
    const command = new PutObjectCommand({
      Bucket: bucket.name,
      Key: file,
      Body: bytes,
      ContentLength: bytes.length,
      ContentType: type,
      ...headers,
    });
    try {
      signal?.throwIfAborted();
      // `signal` does not abort this request: the store might still write the object after the caller got an error.
      const { ETag } = await bucket.ask({ key: file, timeout: LONG_TIMEOUT_MS }, (options) =>
        bucket.client.send(command, options),
      );
      return requireStored(ETag, bucket.endpoint);
    } catch (error) {
      if (!isStoreError(error, 'condition-failed')) throw error;
      const present = await undefinedIfNotFound(stat(file, { signal }));
      // The first attempt succeeded but its response was lost, so its own file fails the condition of the retry.
      if (wasRetried(error.cause) && present?.etag === md5(bytes)) return present.etag;
      if (bareEtags || typeof condition !== 'object' || present?.etag !== condition.etag) throw error;
      bareEtags = true;
      return putUnder(headersOf(condition), { file, bytes, type, condition, signal });
    }
  };

  return async (file, { body, size, maxSize, type }, { condition, signal } = {}) => {
    try {
      const most = size ?? maxSize;
      const { partSize, inFlight } = planParts(most);
      const cutter = cut(signal ? addAbortSignal(signal, body) : body, partSize, most);
      const first = await cutter.parts.next();
      const bytes = first.done ? Buffer.alloc(0) : first.value;
      // Some stores ignore conditions, so check them here too.
      await requireNow(file, condition, () => stat(file, { signal }));
      let ETag: string | undefined;
      if (bytes.length < partSize) {
        requireSize(file, bytes.length, size);
        ETag = await putWhole(file, bytes, type, { condition, signal });
      } else {
        ETag = await uploadParts(bucket, file, {
          attributes: { ContentType: type },
          parts: startingWith(bytes, cutter.parts),
          inFlight,
          condition: headersOf(condition),
          signal,
          async send(part, place) {
            const etag = await sendPart(bucket, file, part, place, signal);
            cutter.giveBack(part);
            return etag;
          },
          async verify() {
            requireSize(file, cutter.size(), size);
            await requireNow(file, condition, () => stat(file, { signal }));
          },
        });
      }
      return entries.of(file, { Size: cutter.size(), ETag, ContentType: type });
    } catch (error) {
      entries.forget(file);
      throw condition === undefined ? error : ofCondition(error, file, condition);
    } finally {
      body.destroy();
    }
  };
}

/** Returns the ETag that stores assign to an unencrypted object written in one request. */
const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex');

interface WriteOptions {
  readonly condition: WriteCondition | undefined;
  readonly signal: AbortSignal | undefined;
}

interface WholeFile extends WriteOptions {
  readonly file: FilePath;
  readonly bytes: Buffer;
  readonly type: string;
}

async function sendPart(
  bucket: Bucket,
  file: FilePath,
  bytes: Buffer,
  place: { UploadId: string; PartNumber: number },
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const command = new UploadPartCommand({
    Bucket: bucket.name,
    Key: file,
    Body: bytes,
    ContentLength: bytes.length,
    ...place,
  });
  const { ETag } = await bucket.ask({ key: file, signal, timeout: LONG_TIMEOUT_MS }, (options) =>
    bucket.client.send(command, options),
  );
  return requireStored(ETag, bucket.endpoint);
}

async function* startingWith(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

/** Throws `condition-failed` if the condition is defined and does not hold now. */
async function requireNow(
  file: FilePath,
  condition: WriteCondition | undefined,
  look: () => Promise<FileEntry>,
): Promise<void> {
  if (condition === undefined) return;
  const present = await undefinedIfNotFound(look());
  requireCondition(file, present, condition);
}

/**
 * Translates an error of a conditional write to `condition-failed`. Stores return 404 for a condition on the ETag of a
 * missing object. Returns other errors unchanged.
 */
function ofCondition(error: unknown, file: FilePath, condition: WriteCondition): unknown {
  if (!isStoreError(error, 'condition-failed') && !isStoreError(error, 'not-found')) return error;
  return condition === 'absent' ? preconditionFailed(file, error) : versionReplaced(file);
}
