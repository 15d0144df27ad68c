import { concurrently } from '../../concurrency/concurrently.ts';
import { isStoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { Cancellable, Store } from '../../model/store.ts';
import { inconsistentStore, notFound, requireEtag, versionReplaced } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, sendConditionally } from './capabilities.ts';
import type { Entries } from './entries.ts';
import { codeOf } from './errors.ts';
import { canBeInXml, type Key, quote } from './keys.ts';
import { deleteObject, deleteObjects, headObject, type ListedObject } from './operations.ts';
import { retryWhenBusy } from './retry.ts';

/** Maximum keys of one DeleteObjects request. */
const MAX_BATCH = 1000;

/** Maximum batches in progress, and maximum delete requests in progress for single objects of a batch. */
const MAX_CONCURRENT_BATCHES = 2;
const MAX_CONCURRENT_DELETES = 32;

export interface RemoveAllOptions extends Cancellable {
  /** Whether to keep objects that have changed since they were listed. */
  readonly onlyUnchanged: boolean;
  readonly onRemoved?: ((object: ListedObject) => void) | undefined;
}

/** Deletes objects. */
export class Remover {
  readonly #bucket: Bucket;
  readonly #entries: Entries;
  readonly #stat: Store['stat'];

  constructor(bucket: Bucket, entries: Entries, stat: Store['stat']) {
    this.#bucket = bucket;
    this.#entries = entries;
    this.#stat = stat;
  }

  readonly remove: Store['remove'] = async (file, { ifMatch, signal } = {}) => {
    // DeleteObject also succeeds if the object does not exist, so check that first.
    requireEtag(await this.#stat(file, { signal }), ifMatch);
    this.#entries.forget(file);
    // A retry succeeds although the first attempt, whose response was lost, has deleted the object.
    await this.removeObject(file, { ifMatch, signal }).catch((error: unknown) => {
      throw isStoreError(error, 'condition-failed') ? versionReplaced(file) : error;
    });
  };

  /**
   * Deletes an object. With `ifMatch`, deletes only the version with this ETag. Succeeds if the object does not exist.
   *
   * @throws condition-failed if the object has a different ETag than `ifMatch`
   * @throws unsupported if the store reports that the object does not exist, although it does
   */
  async removeObject(key: Key, { ifMatch, signal }: { ifMatch?: string | undefined } & Cancellable): Promise<void> {
    const condition = ifMatch === undefined ? {} : { 'if-match': quote(ifMatch) };
    const capability = ifMatch?.includes('-') ? 'deleteConditionsOnParts' : 'deleteConditions';
    const check = async () => {
      const etag = await this.#findEtag(key, { signal });
      if (etag === undefined) throw notFound(key as FilePath);
      if (etag !== ifMatch) throw versionReplaced(key as FilePath);
    };
    try {
      await sendConditionally(this.#bucket.capabilities, capability, condition, {
        check,
        send: (headers) => this.#delete(key, headers, { signal }),
      });
    } catch (error) {
      if (!isStoreError(error, 'not-found')) throw error;
    }
  }

  /**
   * Removes many objects. With `onlyUnchanged`, keeps the objects that have changed, if the store supports conditions.
   */
  async removeAll(objects: AsyncIterable<ListedObject>, options: RemoveAllOptions): Promise<void> {
    const { signal } = options;
    await concurrently(
      inBatches(objects),
      MAX_CONCURRENT_BATCHES,
      async (batch) => {
        const inXml = batch.filter(({ key }) => canBeInXml(key));
        const others = batch.filter(({ key }) => !canBeInXml(key));
        const remaining = await retryWhenBusy(() => this.#removeBatch(inXml, options), options);
        await concurrently(
          each([...remaining, ...others]),
          MAX_CONCURRENT_DELETES,
          (object) => this.#removeListed(object, options),
          signal,
        );
      },
      signal,
    );
    this.#entries.forget();
  }

  async #delete(key: Key, condition: ConditionHeaders, { signal }: Cancellable): Promise<void> {
    try {
      await deleteObject(this.#bucket, key, { condition, signal });
    } catch (error) {
      if (!isStoreError(error, 'not-found')) throw error;
      if ((await this.#findEtag(key, { signal })) !== undefined) throw inconsistentStore(key, error);
    }
  }

  /** Returns the current ETag of the object, or undefined if it does not exist. */
  async #findEtag(key: Key, { signal }: Cancellable): Promise<string | undefined> {
    return (await undefinedIfNotFound(headObject(this.#bucket, key, { signal })))?.etag;
  }

  /** Deletes a listed object. Keeps it if it has changed since the listing. */
  async #removeListed(object: ListedObject, { onlyUnchanged, onRemoved, signal }: RemoveAllOptions): Promise<void> {
    const ifMatch = onlyUnchanged && object.etag !== '' ? object.etag : undefined;
    try {
      await retryWhenBusy(() => this.removeObject(object.key, { ifMatch, signal }), { signal });
    } catch (error) {
      if (isStoreError(error, 'condition-failed')) return;
      throw error;
    }
    onRemoved?.(object);
  }

  /**
   * Deletes a batch in one request, with or without ETags. Returns the objects that the caller must delete one by one.
   * ETags or batches count as unsupported if the store rejects them twice, accepts the batch without ETags or none, and
   * has accepted no batch before.
   */
  async #removeBatch(batch: readonly ListedObject[], options: RemoveAllOptions): Promise<readonly ListedObject[]> {
    const { capabilities } = this.#bucket;
    if (!capabilities.has('batchDeletes') || batch.length === 0) return batch;
    const withEtags = options.onlyUnchanged && capabilities.has('batchEtags');
    const isConfirmed = capabilities.isConfirmed(withEtags ? 'batchEtags' : 'batchDeletes');
    let code: string | undefined;
    for (const hasEtags of withEtags ? [true, true, false] : [false, false]) {
      // A store that has accepted a batch before, or whose condition failed, is right.
      if (!hasEtags && withEtags && (isConfirmed || isPrecondition(code))) return batch;
      try {
        const remaining = await this.#deleteBatch(batch, options, hasEtags);
        capabilities.confirm('batchDeletes');
        if (hasEtags) capabilities.confirm('batchEtags');
        else if (withEtags) capabilities.markMissing('batchEtags', { code });
        return remaining;
      } catch (error) {
        // A temporary error does not prove that the request is unsupported.
        const rejected = rejectionCode(error);
        if (rejected === undefined) throw error;
        code ??= rejected;
      }
    }
    if (!isConfirmed && !isPrecondition(code)) capabilities.markMissing('batchDeletes', { code });
    return batch;
  }

  /**
   * Sends a batch. Returns the objects that the caller must delete one by one: those that the response does not list as
   * deleted, except those that have changed. A store might support ETags in batches, but no condition on the delete of
   * a single object.
   */
  async #deleteBatch(
    batch: readonly ListedObject[],
    { onRemoved, signal }: RemoveAllOptions,
    hasEtags: boolean,
  ): Promise<readonly ListedObject[]> {
    const objects = batch.map(({ key, etag }) => (hasEtags && etag !== '' ? { key, etag } : { key }));
    const { deleted, errors } = await deleteObjects(this.#bucket, objects, { signal });
    const remaining: ListedObject[] = [];
    for (const object of batch) {
      const { key, etag } = object;
      if (deleted.has(key) && !errors.has(key)) onRemoved?.(object);
      else if (!hasEtags || !isPrecondition(errors.get(key))) remaining.push(object);
      else if ((await this.#findEtag(key, { signal })) === etag) remaining.push(object);
    }
    return remaining;
  }
}

/**
 * Codes with which stores reject a whole batch. Some stores do not support ETags in batches, or batches at all. Some
 * might reject a batch because one of its objects has changed (412).
 */
const REJECTION_CODE =
  /MissingContentMD5|InvalidDigest|InvalidRequest|MalformedXML|NotImplemented|MethodNotAllowed|InvalidArgument|PreconditionFailed|^501$|^405$|^412$/;

const isPrecondition = (code: string | undefined) => code === 'PreconditionFailed' || code === '412';

/** Returns the code with which the store rejected a whole batch, or undefined for other errors. */
function rejectionCode(error: unknown): string | undefined {
  const code = codeOf(error instanceof Error ? error.cause : undefined);
  return code !== undefined && REJECTION_CODE.test(code) ? code : undefined;
}

async function* inBatches(objects: AsyncIterable<ListedObject>): AsyncGenerator<ListedObject[]> {
  let batch: ListedObject[] = [];
  for await (const object of objects) {
    if (batch.push(object) < MAX_BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
