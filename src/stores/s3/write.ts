import { addAbortSignal } from 'node:stream';
import { isStoreError } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { Keep, Store, Upload, WriteCondition, WriteOptions } from '../../model/store.ts';
import { concurrentlyModified, preconditionFailed, requireSize, versionReplaced } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import type { ConditionalPut } from './conditional-put.ts';
import type { Entries } from './entries.ts';
import { planParts, splitIntoParts, uploadParts } from './multipart.ts';
import { uploadPart } from './operations.ts';
import type { Replacer } from './replace.ts';

/** Writes files: a small file in one request, and a larger one in parts while it arrives. */
export class Writer {
  readonly #bucket: Bucket;
  readonly #entries: Entries;
  readonly #puts: ConditionalPut;
  readonly #replacer: Pick<Replacer, 'replace' | 'attributesOf'>;

  constructor(
    bucket: Bucket,
    entries: Entries,
    puts: ConditionalPut,
    replacer: Pick<Replacer, 'replace' | 'attributesOf'>,
  ) {
    this.#bucket = bucket;
    this.#entries = entries;
    this.#puts = puts;
    this.#replacer = replacer;
  }

  readonly write: Store['write'] = async (file, upload, { condition, keep, onOutcome, signal } = {}) => {
    try {
      return await this.#write({ file, type: upload.type, condition, keep, onOutcome, signal }, upload);
    } catch (error) {
      this.#entries.forget(file);
      throw toWriteError(error, file, condition);
    } finally {
      upload.body.destroy();
    }
  };

  async #write(write: Write, { body, size, maxSize: declaredMax }: Upload) {
    const { file, type, keep, onOutcome, signal } = write;
    let placed = write.condition;
    const replace = <Output>(put: (condition: WriteCondition | undefined) => Promise<Output>) =>
      this.#replacer.replace(file, write, (condition) => {
        placed = condition;
        return put(condition);
      });
    const maxSize = size ?? declaredMax;
    const { partSize, maxConcurrent } = planParts(maxSize);
    const splitter = splitIntoParts(signal ? addAbortSignal(signal, body) : body, partSize, maxSize);
    const first = await splitter.parts.next();
    const bytes = first.done ? Buffer.alloc(0) : first.value;
    // Some stores ignore conditions, so check them here too.
    await this.#puts.require(file, write.condition, { signal });
    const attributes = { 'content-type': type, ...(await this.#replacer.attributesOf(keep)) };
    let etag: string;
    if (bytes.length < partSize) {
      requireSize(file, bytes.length, size);
      etag = await replace((condition) => this.#puts.put(file, bytes, { attributes, condition, signal }));
    } else {
      etag = await uploadParts(this.#bucket, file, {
        attributes,
        parts: startingWith(bytes, splitter.parts),
        maxConcurrent,
        signal,
        send: async (part, number) => {
          const partEtag = await uploadPart(this.#bucket, file, part, { ...number, signal });
          splitter.recycle(part);
          return partEtag;
        },
        finish: (complete) => {
          requireSize(file, splitter.size(), size);
          return replace((condition) =>
            complete({
              condition: this.#puts.headersOf(condition),
              verify: () => this.#puts.require(file, condition, { signal }),
            }),
          );
        },
      });
    }
    // The response to a PUT does not tell whether it replaced an object, but its condition does.
    if (placed !== undefined) onOutcome?.({ replaced: placed !== 'absent' });
    return this.#entries.of(file, { size: splitter.size(), etag, contentType: type });
  }
}

interface Write {
  readonly file: FilePath;
  readonly type: string;
  readonly condition: WriteCondition | undefined;
  readonly keep: Keep | undefined;
  readonly onOutcome: WriteOptions['onOutcome'];
  readonly signal: AbortSignal | undefined;
}

async function* startingWith(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

/**
 * Translates an error of a conditional write to `condition-failed`. Stores return 404 for a condition on the ETag of a
 * missing object. Without a condition of the caller, the condition was that of a kept version. Returns other errors
 * unchanged.
 */
function toWriteError(error: unknown, file: FilePath, condition: WriteCondition | undefined): unknown {
  if (!isStoreError(error, 'condition-failed') && !isStoreError(error, 'not-found')) return error;
  if (condition === undefined) return isStoreError(error, 'condition-failed') ? concurrentlyModified(error) : error;
  return condition === 'absent' ? preconditionFailed(file, error) : versionReplaced(file);
}
