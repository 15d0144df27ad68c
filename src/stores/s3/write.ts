import { addAbortSignal } from 'node:stream';
import { isStoreError } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type {
  Cancellable,
  FileEntry,
  Keeping,
  Store,
  Upload,
  WriteCondition,
  WriteOptions,
} from '../../model/store.ts';
import { concurrentlyModified, preconditionFailed, requireSize, versionReplaced } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import type { ConditionalPut } from './conditional-put.ts';
import type { Entries } from './entries.ts';
import { type Completion, completeParts, planParts, type SentParts, splitIntoParts, uploadParts } from './multipart.ts';
import { timeAttributes } from './object-metadata.ts';
import { type Attributes, uploadPart } from './operations.ts';
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

  readonly write: Store['write'] = async (file, upload, options = {}) => {
    try {
      return await this.#translatingErrors(file, options, () => this.#write(file, upload, options));
    } finally {
      upload.body.destroy();
    }
  };

  /** Writes a file in one request. Same contract as `Store.write`. */
  put(file: FilePath, bytes: Buffer, { type, mtime, ...options }: PutOptions): Promise<FileEntry> {
    return this.#translatingErrors(file, options, async () => {
      await this.#puts.require(file, options.condition, options);
      const etag = await this.#put(file, bytes, { type, mtime, ...options });
      return this.#entries.of(file, { size: bytes.length, etag, contentType: type, ...writtenNow(mtime) });
    });
  }

  /** Writes a file whose parts a multipart upload has. Same contract as `Store.write`. */
  complete(file: FilePath, { size, type, mtime, ...sent }: SentFile, options: ChangeOptions): Promise<FileEntry> {
    return this.#translatingErrors(file, options, async () => {
      const etag = await this.#complete(file, options, (completion) =>
        completeParts(this.#bucket, file, sent, completion),
      );
      return this.#entries.of(file, { size, etag, contentType: type, ...writtenNow(mtime) });
    });
  }

  async #write(
    file: FilePath,
    { body, type, size, maxSize: declaredMax, modified }: Upload,
    options: ChangeOptions,
  ): Promise<FileEntry> {
    const { condition, keep, signal } = options;
    const maxSize = size ?? declaredMax;
    const { partSize, maxConcurrent } = planParts(maxSize, this.#bucket.minPartBytes);
    const splitter = splitIntoParts(signal ? addAbortSignal(signal, body) : body, partSize, maxSize);
    const first = await splitter.parts.next();
    const bytes = first.done ? Buffer.alloc(0) : first.value;
    // Some stores ignore conditions, so check them here too.
    await this.#puts.require(file, condition, { signal });
    // Of a file in parts, the bucket gets the time before the end of the body.
    const mtime = modified?.();
    let etag: string;
    if (bytes.length < partSize) {
      requireSize(file, bytes.length, size);
      etag = await this.#put(file, bytes, { type, mtime, ...options });
    } else {
      etag = await uploadParts(this.#bucket, file, {
        attributes: await this.#attributesOf({ type, mtime, keep }),
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
          return this.#complete(file, options, complete);
        },
      });
    }
    return this.#entries.of(file, { size: splitter.size(), etag, contentType: type, ...writtenNow(mtime) });
  }

  async #attributesOf({ type, mtime, keep }: Pick<PutOptions, 'type' | 'mtime' | 'keep'>): Promise<Attributes> {
    return { 'content-type': type, ...timeAttributes(mtime), ...(await this.#replacer.attributesOf(keep)) };
  }

  async #put(file: FilePath, bytes: Buffer, { type, mtime, ...options }: PutOptions): Promise<string> {
    const attributes = await this.#attributesOf({ type, mtime, keep: options.keep });
    const { signal } = options;
    return this.#replace(file, options, (condition) => this.#puts.put(file, bytes, { attributes, condition, signal }));
  }

  #complete(
    file: FilePath,
    options: ChangeOptions,
    complete: (completion: Completion) => Promise<string>,
  ): Promise<string> {
    return this.#replace(file, options, (condition) =>
      complete({
        condition: this.#puts.headersOf(condition),
        verify: () => this.#puts.require(file, condition, options),
      }),
    );
  }

  /** Puts new content at a path under its final condition, and reports the outcome. Returns the ETag. */
  async #replace(
    file: FilePath,
    { condition, keep, onOutcome }: ChangeOptions,
    put: (condition: WriteCondition | undefined) => Promise<string>,
  ): Promise<string> {
    let placed = condition;
    const etag = await this.#replacer.replace(file, { condition, keep }, (final) => {
      placed = final;
      return put(final);
    });
    // The response to a PUT does not tell whether it replaced an object, but its condition does.
    if (placed !== undefined) onOutcome?.({ replaced: placed !== 'absent' });
    return etag;
  }

  async #translatingErrors<Result>(
    file: FilePath,
    { condition }: ChangeOptions,
    task: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await task();
    } catch (error) {
      this.#entries.forget(file);
      throw toWriteError(error, file, condition);
    }
  }
}

type ChangeOptions = WriteOptions & Keeping & Cancellable;
type PutOptions = ChangeOptions & FileProperties;

/** The media type of a file, and the modification time that its client set. */
interface FileProperties extends Pick<Upload, 'type'> {
  readonly mtime: Date | undefined;
}

/** A file whose parts a multipart upload has. `size` is in bytes. */
interface SentFile extends SentParts, FileProperties {
  readonly size: number;
}

/** Returns the times of a new object. The response to its upload has none, so without `mtime`, they are unknown. */
const writtenNow = (mtime: Date | undefined) => mtime && { mtime, modified: new Date() };

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
