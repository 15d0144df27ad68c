import { Readable } from 'node:stream';
import { isStoreError, type StoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { Cancellable, WriteCondition } from '../../model/store.ts';
import type { Bucket } from './bucket.ts';
import { IF_ABSENT } from './capabilities.ts';
import type { ConditionalPut } from './conditional-put.ts';
import {
  isCopyOfVersion,
  labelledAttributes,
  readSource,
  requireVersion,
  type Source,
  sendForVersion,
} from './copy-source.ts';
import { codeOf, nothingCopied, wasRetried } from './errors.ts';
import type { Key } from './keys.ts';
import { planParts, rangesOf, uploadParts } from './multipart.ts';
import {
  type Attributes,
  attributesOf,
  copyObject,
  headObject,
  type ObjectHead,
  type PartNumber,
  uploadPart,
  uploadPartCopy,
} from './operations.ts';
import type { Remover } from './remove.ts';

/** Maximum bytes that a store copies in one request (Amazon S3 and R2: 5 GB). */
const MAX_COPY_BYTES = 5 * 2 ** 30;

/** Bytes per copied part, so that each takes seconds. Parts are larger if 10,000 parts would not suffice. */
const COPY_PART_BYTES = 2 ** 29;
const MAX_CONCURRENT_PART_COPIES = 4;

/** Holdall reads and writes exclusive copies below this many bytes (Amazon S3: minimum size of a part). */
const MIN_COPIED_PART_BYTES = 5 * 2 ** 20;

export interface CopyOptions extends Cancellable {
  /** Whether the copy must not replace an object. */
  readonly exclusive: boolean;
  /** The ETag of the object that the copy must replace; undefined for any. */
  readonly replacing?: string;
  /** Attributes in addition to those of the source. Only for copies with a condition on the destination. */
  readonly attributes?: Attributes;
}

/** Copies objects inside the bucket. */
export class Copier {
  readonly #bucket: Bucket;
  readonly #remover: Pick<Remover, 'removeObject'>;
  readonly #puts: ConditionalPut;
  readonly #maxCopyBytes: number;
  /** Whether every copy in one request has kept the ETag of its source so far. */
  #copiesKeepEtags = true;

  constructor(
    bucket: Bucket,
    remover: Pick<Remover, 'removeObject'>,
    puts: ConditionalPut,
    maxCopyBytes = MAX_COPY_BYTES,
  ) {
    this.#bucket = bucket;
    this.#remover = remover;
    this.#puts = puts;
    this.#maxCopyBytes = maxCopyBytes;
  }

  /**
   * Copies an object with its media type and metadata, and returns the ETag of the copy. With `exclusive`, the copy
   * replaces no object, not even one that arrives during the copy. With `replacing`, it replaces no other object.
   *
   * @throws condition-failed if the source has changed, or if the destination is not as `exclusive` or `replacing` say
   * @throws not-found if the source does not exist
   */
  copy(source: Source, to: Key, options: CopyOptions): Promise<string> {
    const isConditional = conditionOf(options) !== undefined;
    const isInParts = source.size >= Math.min(MIN_COPIED_PART_BYTES, this.#bucket.minPartBytes);
    if (isConditional && !isInParts) return this.#readAndWrite(source, to, options);
    const isOneRequest = !isConditional && source.size <= this.#maxCopyBytes;
    return isOneRequest ? this.#copyWhole(source, to, options) : this.#copyInParts(source, to, options);
  }

  /**
   * Copies an object like `copy`, in one request if possible. Used for the many objects of a folder. With `exclusive`,
   * the copy might replace an object that arrives meanwhile if the store does not support If-None-Match.
   */
  copyQuickly(source: Source, to: Key, options: CopyOptions): Promise<string> {
    return source.size <= this.#maxCopyBytes
      ? this.#copyWhole(source, to, options)
      : this.#copyInParts(source, to, options);
  }

  /** Returns the current version of the object, or undefined if it does not exist. */
  async find(key: Key, options: Cancellable): Promise<Source | undefined> {
    const head = await this.#findHead(key, options);
    return head && { key, size: head.size, etag: head.etag };
  }

  /** Returns whether Holdall created the object at `key` as a copy of an object with this ETag. */
  async isCopyOf(key: Key, etag: string, options: Cancellable): Promise<boolean> {
    const head = await this.#findHead(key, options);
    return head !== undefined && isCopyOfVersion(head, etag);
  }

  #findHead(key: Key, options: Cancellable): Promise<ObjectHead | undefined> {
    return undefinedIfNotFound(headObject(this.#bucket, key, options));
  }

  /** Returns whether a copy is expected to keep the ETag of the source. */
  #keepsEtag({ etag }: Source): boolean {
    return this.#copiesKeepEtags && !etag.includes('-');
  }

  /** Copies an object in one request. */
  async #copyWhole(source: Source, to: Key, options: CopyOptions): Promise<string> {
    const keepsEtag = this.#keepsEtag(source);
    const etag = await this.#requestCopy(source, to, options);
    if (!keepsEtag || etag === source.etag) return etag;
    // Either the source has changed, or this store assigns new ETags to encrypted objects. In the second case, copies
    // store the ETag of their source as metadata from now on.
    await this.#requireUnchanged(source, to, { etag, isNew: options.exclusive });
    this.#copiesKeepEtags = false;
    try {
      return await this.#requestCopy(source, to, { ...options, exclusive: false });
    } catch (error) {
      if (options.exclusive) await this.#removeCopy(to, etag);
      throw error;
    }
  }

  async #requestCopy(source: Source, to: Key, options: CopyOptions, attempt = 1): Promise<string> {
    const { capabilities } = this.#bucket;
    const isConditional = options.exclusive && capabilities.has('copyConditions');
    try {
      const etag = await this.#copyVersion(source, to, options, isConditional);
      if (isConditional) capabilities.confirm('copyConditions');
      return etag;
    } catch (error) {
      const isDoubtful = isConditional && !capabilities.isConfirmed('copyConditions');
      if (!isDoubtful || !(await this.#isConditionUnsupported(error, source, to))) {
        return this.#findCompletedCopy(error, source, to);
      }
      // The first such response might have another reason: an object that existed briefly, or a failing proxy.
      const code = codeOf(error instanceof Error ? error.cause : undefined);
      if (attempt > 1) capabilities.markMissing('copyConditions', { code });
      return this.#requestCopy(source, to, options, attempt + 1);
    }
  }

  async #copyVersion(source: Source, to: Key, options: CopyOptions, isConditional: boolean): Promise<string> {
    const { exclusive, signal } = options;
    const keepsEtag = this.#keepsEtag(source);
    const attributes = keepsEtag
      ? undefined
      : labelledAttributes(await requireVersion(this.#bucket, source, { signal }), source.etag);
    const condition = isConditional ? IF_ABSENT : undefined;
    const returned = await sendForVersion(this.#bucket, source, { isConditional, signal }, (ifMatch) =>
      copyObject(
        this.#bucket,
        to,
        { key: source.key, versionId: source.versionId, ifMatch },
        { attributes, condition },
      ),
    );
    const etag = returned || (await this.#etagOfCopy(source, to, keepsEtag));
    // Older stores ignore the condition on the source. The metadata of the copy must not name a different version.
    if (!keepsEtag) await this.#requireUnchanged(source, to, { etag, isNew: exclusive });
    return etag;
  }

  /**
   * Returns the ETag of a copy that succeeded although its request failed. This happens when the response is lost and
   * the retry finds the copy of the first attempt. Otherwise throws `error`.
   */
  async #findCompletedCopy(error: unknown, source: Source, to: Key): Promise<string> {
    const mayBeDone = isStoreError(error, 'condition-failed') && wasRetried(error.cause);
    const copy = mayBeDone ? await this.#findHead(to, {}) : undefined;
    if (copy?.size === source.size && isCopyOfVersion(copy, source.etag)) return copy.etag;
    throw error;
  }

  /** Returns whether the store rejected a conditional copy although `to` does not exist and the source is unchanged. */
  async #isConditionUnsupported(error: unknown, source: Source, to: Key): Promise<boolean> {
    if (!isStoreError(error, 'condition-failed')) return isStoreError(error, 'unsupported');
    const isAbsent = (await this.#findHead(to, {})) === undefined;
    return isAbsent && (await this.#findHead(source.key, {}))?.etag === source.etag;
  }

  /**
   * Returns the ETag of a copy if the response contains none. Throws if the store copied nothing: a store that ignores
   * `x-amz-copy-source` treats the request as an empty PutObject and returns 200.
   */
  async #etagOfCopy(source: Source, to: Key, keepsEtag: boolean): Promise<string> {
    const copy = await this.#findHead(to, {});
    if (copy?.size !== source.size || !(keepsEtag || isCopyOfVersion(copy, source.etag))) throw nothingCopied();
    return copy.etag;
  }

  /** Throws if the source has changed since the copy. Then first removes a new copy, which would be orphaned. */
  async #requireUnchanged(source: Source, to: Key, { etag, isNew }: { etag: string; isNew: boolean }): Promise<void> {
    try {
      await requireVersion(this.#bucket, source, {});
    } catch (error) {
      if (isNew) await this.#removeCopy(to, etag);
      throw error;
    }
  }

  /** Removes the copy with this ETag. Keeps an object that another client has written there meanwhile. */
  async #removeCopy(key: Key, etag: string): Promise<void> {
    const present = await this.#findHead(key, {});
    if (present?.etag === etag) await this.#remover.removeObject(key, { ifMatch: etag });
  }

  /** Copies an object in parts, inside the store if it supports UploadPartCopy. */
  async #copyInParts(source: Source, to: Key, options: CopyOptions): Promise<string> {
    const { capabilities } = this.#bucket;
    let rejection: StoreError | undefined;
    if (capabilities.has('partCopies')) {
      const partSize = Math.min(planParts(source.size, COPY_PART_BYTES).partSize, this.#maxCopyBytes);
      const plan = { partSize, maxConcurrent: MAX_CONCURRENT_PART_COPIES, send: this.#copyPart };
      try {
        const etag = await this.#uploadCopy(source, to, options, plan);
        capabilities.confirm('partCopies');
        return etag;
      } catch (error) {
        if (!isStoreError(error, 'unsupported')) throw error;
        rejection = error;
      }
    }
    const etag = await this.#copyWithoutPartCopies(source, to, options);
    capabilities.markMissing('partCopies', { code: codeOf(rejection?.cause) });
    return etag;
  }

  /** Copies an object in one request if the store allows its size. Otherwise, Holdall reads and writes it in parts. */
  async #copyWithoutPartCopies(source: Source, to: Key, options: CopyOptions): Promise<string> {
    await this.#requireDestination(to, options);
    if (source.size <= this.#maxCopyBytes) return this.#copyWhole(source, to, options);
    return this.#uploadCopy(source, to, options, {
      ...planParts(source.size, this.#bucket.minPartBytes),
      send: this.#readAndWritePart,
    });
  }

  async #uploadCopy(source: Source, to: Key, options: CopyOptions, plan: CopyPlan): Promise<string> {
    const { signal } = options;
    const head = await requireVersion(this.#bucket, source, { signal });
    return uploadParts(this.#bucket, to, {
      attributes: { ...labelledAttributes(head, source.etag), ...options.attributes },
      parts: Readable.from(rangesOf(source.size, plan.partSize)),
      maxConcurrent: plan.maxConcurrent,
      signal,
      send: (range: string, number) => plan.send({ source, to, range, number, signal }),
      finish: (complete) =>
        complete({
          condition: this.#puts.headersOf(conditionOf(options)),
          verify: async () => {
            // Ensures that all parts come from the same version.
            await requireVersion(this.#bucket, source, { signal });
            // Older stores ignore conditions on the completion, so check the destination right before it.
            await this.#requireDestination(to, options);
          },
        }),
    });
  }

  readonly #copyPart = async ({ source, to, range, number, signal }: CopiedPart): Promise<string> => {
    const etag = await sendForVersion(this.#bucket, source, { signal, isConditional: false }, (ifMatch) =>
      uploadPartCopy(this.#bucket, to, { key: source.key, versionId: source.versionId, ifMatch, range }, number),
    );
    // A store that ignores the copy source treats the request as an empty UploadPart, with the ETag in a header.
    if (etag === '') throw nothingCopied();
    return etag;
  };

  readonly #readAndWritePart = async ({ source, to, range, number, signal }: CopiedPart): Promise<string> => {
    const { bytes } = await readSource(this.#bucket, source, range, { signal });
    return uploadPart(this.#bucket, to, bytes, { ...number, signal });
  };

  /** Reads and writes the source, because most stores support conditions on PutObject. */
  async #readAndWrite(source: Source, to: Key, options: CopyOptions): Promise<string> {
    const { signal } = options;
    const { bytes, head } = await readSource(this.#bucket, source, undefined, { signal });
    const copied = this.#keepsEtag(source) ? attributesOf(head) : labelledAttributes(head, source.etag);
    const attributes = { ...copied, ...options.attributes };
    return this.#puts.put(to as FilePath, bytes, {
      attributes,
      condition: conditionOf(options),
      signal,
      recover: (error) => this.#findCompletedCopy(error, source, to),
    });
  }

  /** Throws `condition-failed` if the destination is not as the options say. */
  #requireDestination(to: Key, options: CopyOptions): Promise<void> {
    return this.#puts.require(to as FilePath, conditionOf(options), options);
  }
}

/** Returns the condition on the destination. */
function conditionOf({ exclusive, replacing }: CopyOptions): WriteCondition | undefined {
  if (exclusive) return 'absent';
  return replacing === undefined ? undefined : { etag: replacing };
}

interface CopyPlan {
  readonly partSize: number;
  readonly maxConcurrent: number;
  /** Copies a range of the source as a part. Returns the ETag of the part. */
  readonly send: (part: CopiedPart) => Promise<string>;
}

interface CopiedPart extends Cancellable {
  readonly source: Source;
  readonly to: Key;
  /** As `bytes=first-last`. */
  readonly range: string;
  readonly number: PartNumber;
}
