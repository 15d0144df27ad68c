import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { isStoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { Store, Upload, WriteCondition } from '../../model/store.ts';
import { preconditionFailed, requireCondition, requireSize, versionReplaced } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, IF_ABSENT, sendConditionally, writeCapability } from './capabilities.ts';
import type { Entries } from './entries.ts';
import { wasRetried } from './errors.ts';
import { quote } from './keys.ts';
import { planParts, splitIntoParts, uploadParts } from './multipart.ts';
import { putObject, uploadPart } from './operations.ts';

/** Writes files: a small file in one request, and a larger one in parts while it arrives. */
export class Writer {
  readonly #bucket: Bucket;
  readonly #entries: Entries;
  readonly #stat: Store['stat'];
  /** Whether conditions of writes contain ETags without quotes. Ceph 16 rejects quotes, which RFC 9110 requires. */
  #omitsQuotes = false;

  constructor(bucket: Bucket, entries: Entries, stat: Store['stat']) {
    this.#bucket = bucket;
    this.#entries = entries;
    this.#stat = stat;
  }

  readonly write: Store['write'] = async (file, upload, { condition, onOutcome, signal } = {}) => {
    try {
      const entry = await this.#write({ file, type: upload.type, condition, signal }, upload);
      // The response to a PUT does not tell whether it replaced an object, but its condition does.
      if (condition !== undefined) onOutcome?.({ replaced: condition !== 'absent' });
      return entry;
    } catch (error) {
      this.#entries.forget(file);
      throw condition === undefined ? error : toConditionError(error, file, condition);
    } finally {
      upload.body.destroy();
    }
  };

  async #write(write: Write, { body, size, maxSize: declaredMax }: Upload) {
    const { file, type, condition, signal } = write;
    const maxSize = size ?? declaredMax;
    const { partSize, maxConcurrent } = planParts(maxSize);
    const splitter = splitIntoParts(signal ? addAbortSignal(signal, body) : body, partSize, maxSize);
    const first = await splitter.parts.next();
    const bytes = first.done ? Buffer.alloc(0) : first.value;
    // Some stores ignore conditions, so check them here too.
    await this.#requireCondition(write);
    let etag: string;
    if (bytes.length < partSize) {
      requireSize(file, bytes.length, size);
      etag = await this.#putWhole(write, bytes);
    } else {
      etag = await uploadParts(this.#bucket, file, {
        attributes: { 'content-type': type },
        parts: startingWith(bytes, splitter.parts),
        maxConcurrent,
        condition: this.#headersOf(condition),
        signal,
        send: async (part, number) => {
          const partEtag = await uploadPart(this.#bucket, file, part, { ...number, signal });
          splitter.recycle(part);
          return partEtag;
        },
        verify: async () => {
          requireSize(file, splitter.size(), size);
          await this.#requireCondition(write);
        },
      });
    }
    return this.#entries.of(file, { size: splitter.size(), etag, contentType: type });
  }

  #putWhole(write: Write, bytes: Buffer): Promise<string> {
    const condition = this.#headersOf(write.condition);
    return sendConditionally(this.#bucket.capabilities, writeCapability('put', condition), condition, {
      check: () => this.#requireCondition(write),
      send: (headers) => this.#put(write, bytes, headers),
    });
  }

  async #put(write: Write, bytes: Buffer, headers: ConditionHeaders): Promise<string> {
    const { file, type, condition, signal } = write;
    try {
      signal?.throwIfAborted();
      // `signal` does not abort this request: the store might still write the object after the caller got an error.
      return await putObject(this.#bucket, file, bytes, { attributes: { 'content-type': type }, condition: headers });
    } catch (error) {
      if (!isStoreError(error, 'condition-failed')) throw error;
      const present = await undefinedIfNotFound(this.#stat(file, { signal }));
      // The first attempt succeeded but its response was lost, so its own file fails the condition of the retry.
      if (wasRetried(error.cause) && present?.etag === md5(bytes)) return present.etag;
      if (this.#omitsQuotes || typeof condition !== 'object' || present?.etag !== condition.etag) throw error;
      this.#omitsQuotes = true;
      return this.#put(write, bytes, this.#headersOf(condition));
    }
  }

  #headersOf(condition: WriteCondition | undefined): ConditionHeaders {
    if (condition === undefined) return {};
    if (condition === 'absent') return IF_ABSENT;
    return { 'if-match': this.#omitsQuotes ? condition.etag : quote(condition.etag) };
  }

  /** Throws `condition-failed` if the condition is defined and does not hold now. */
  async #requireCondition({ file, condition, signal }: Write): Promise<void> {
    if (condition === undefined) return;
    const present = await undefinedIfNotFound(this.#stat(file, { signal }));
    requireCondition(file, present, condition);
  }
}

interface Write {
  readonly file: FilePath;
  readonly type: string;
  readonly condition: WriteCondition | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Returns the ETag that stores assign to an unencrypted object written in one request. */
const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex');

async function* startingWith(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

/**
 * Translates an error of a conditional write to `condition-failed`. Stores return 404 for a condition on the ETag of a
 * missing object. Returns other errors unchanged.
 */
function toConditionError(error: unknown, file: FilePath, condition: WriteCondition): unknown {
  if (!isStoreError(error, 'condition-failed') && !isStoreError(error, 'not-found')) return error;
  return condition === 'absent' ? preconditionFailed(file, error) : versionReplaced(file);
}
