import { DeleteObjectsCommand } from '@aws-sdk/client-s3';
import { concurrently } from '../../domain/concurrently.ts';
import { isStoreError, isThere } from '../../domain/error.ts';
import { changedMeanwhile, requireEtag } from '../../domain/problems.ts';
import type { Cancellable, Store } from '../../domain/store.ts';
import type { Bucket } from './bucket.ts';
import type { Entries } from './entries.ts';
import { fitsXml, type Key, quote, unquote } from './keys.ts';
import type { ListedObject } from './list.ts';
import { patiently } from './patience.ts';
import { LONG } from './time-outs.ts';
import { codeOf, wasSentBefore } from './translate.ts';

/** The most keys that one request removes. */
const BATCH = 1000;

/** How many batches are under way at once, and how many requests where each object takes one of its own. */
const BATCHES_AT_ONCE = 2;
const SINGLES_AT_ONCE = 32;

export interface Remover {
  /** `Store.remove`. */
  readonly remove: Store['remove'];
  /** Removes an object as it is, or only with this etag; one that is gone counts as removed. */
  removeObject(key: Key, options: { ifMatch?: string } & Cancellable): Promise<void>;
  /** Removes many objects; with `asSeen` those stay that have changed, as far as the store can tell. */
  removeAll(objects: AsyncIterable<ListedObject>, options: RemoveAll): Promise<void>;
}

interface RemoveAll extends Cancellable {
  readonly asSeen: boolean;
  readonly onRemoved?: ((object: ListedObject) => void) | undefined;
}

/** What this store turned out to take; the next request is spared what was refused. */
interface Abilities {
  /** Objects of several keys in one request. */
  batches: boolean;
  /** The etags of objects in such a request, and `If-Match` on the removal of one. */
  conditions: boolean;
}

export function createRemover(bucket: Bucket, entries: Entries, stat: Store['stat']): Remover {
  const able: Abilities = { batches: true, conditions: true };

  const removeObject: Remover['removeObject'] = async (key, { ifMatch, signal }) => {
    const isConditional = ifMatch !== undefined && able.conditions;
    const conditions = { ifMatch: isConditional ? quote(ifMatch) : undefined };
    try {
      await bucket.ask({ key, signal }, (options) => bucket.objects.remove(key, conditions, options));
    } catch (error) {
      if (isStoreError(error, 'not-found')) return;
      if (!isConditional || !isStoreError(error, 'unsupported')) throw error;
      able.conditions = false;
      await removeObject(key, { signal });
    }
  };

  const removeSeen = async (object: ListedObject, { asSeen, signal }: RemoveAll): Promise<void> => {
    try {
      await removeObject(object.key, { ...(asSeen && object.ETag && { ifMatch: unquote(object.ETag) }), signal });
    } catch (error) {
      if (!isStoreError(error, 'condition-failed')) throw error;
    }
  };

  /** Removes a batch in one request; gives the objects that the answer does not account for. */
  const removeBatch = async (batch: readonly ListedObject[], options: RemoveAll): Promise<readonly ListedObject[]> => {
    const asSeen = options.asSeen && able.conditions;
    const Objects = batch.map(({ key, ETag }) => ({ Key: key, ...(asSeen && { ETag }) }));
    const command = new DeleteObjectsCommand({ Bucket: bucket.name, Delete: { Objects } });
    const { signal } = options;
    const { Deleted = [], Errors = [] } = await bucket.ask({ signal, timeout: LONG }, (send) =>
      bucket.client.send(command, send),
    );
    const removed = new Set(Deleted.map(({ Key }) => Key));
    const changed = new Set(Errors.flatMap(({ Key, Code }) => (Code === 'PreconditionFailed' ? [Key] : [])));
    for (const object of batch) if (removed.has(object.key)) options.onRemoved?.(object);
    return batch.filter(({ key }) => !removed.has(key) && !changed.has(key));
  };

  /**
   * The same in the way that the store takes: with etags, without, or not at all. That it is the etags which it refuses
   * is believed where the same batch goes through without them.
   */
  const tryBatch = async (batch: readonly ListedObject[], options: RemoveAll): Promise<readonly ListedObject[]> => {
    if (!able.batches || batch.length === 0) return batch;
    try {
      return await removeBatch(batch, options);
    } catch (error) {
      const code = refusalOf(error);
      if (code === undefined) throw error;
      const hadConditions = options.asSeen && able.conditions;
      const rest = hadConditions
        ? await removeBatch(batch, { ...options, asSeen: false }).catch((second: unknown) => {
            // What fails in passing tells nothing of what the store takes.
            if (refusalOf(second) === undefined) throw second;
          })
        : undefined;
      if (rest) {
        able.conditions = false;
        bucket.warn('The object store takes no conditions on removals: objects are only looked at beforehand.', {
          code,
        });
        return rest;
      }
      able.batches = false;
      bucket.warn('The object store takes no batches of removals: objects are removed one by one.', { code });
      return batch;
    }
  };

  return {
    removeObject,

    async remove(file, { ifMatch, signal } = {}) {
      // A store says nothing where there is nothing to remove.
      requireEtag(await stat(file, { signal }), ifMatch);
      entries.forget(file);
      try {
        await removeObject(file, { ifMatch, signal });
      } catch (error) {
        if (!isStoreError(error, 'condition-failed')) throw error;
        // Gone by the same request, whose first answer was lost.
        const isGone = wasSentBefore(error.cause) && !(await isThere(stat(file, { signal })));
        if (!isGone) throw changedMeanwhile(file);
      }
    },

    async removeAll(objects, options) {
      const { signal, onRemoved } = options;
      const removeSingly = async (object: ListedObject) => {
        await patiently(() => removeSeen(object, options), options);
        onRemoved?.(object);
      };
      await concurrently(
        inBatches(objects),
        BATCHES_AT_ONCE,
        async (batch) => {
          const fit = batch.filter(({ key }) => fitsXml(key));
          const rest = await patiently(() => tryBatch(fit, options), options);
          const unfit = batch.filter(({ key }) => !fitsXml(key));
          await concurrently(each([...rest, ...unfit]), SINGLES_AT_ONCE, removeSingly, signal);
        },
        signal,
      );
      entries.forget();
    },
  };
}

/**
 * What stores answer to batches that they don't take: some want a Content-MD5, which the client no longer sends
 * (MissingContentMD5, and InvalidRequest with the same meaning), some know no etags in them, some know no batches.
 */
const REFUSALS =
  /MissingContentMD5|InvalidDigest|InvalidRequest|MalformedXML|NotImplemented|MethodNotAllowed|InvalidArgument|^501$|^405$/;

/** The code with which the store refused a batch as such, if it did. */
function refusalOf(error: unknown): string | undefined {
  const code = codeOf(error instanceof Error ? error.cause : undefined);
  return code !== undefined && REFUSALS.test(code) ? code : undefined;
}

async function* inBatches(objects: AsyncIterable<ListedObject>): AsyncGenerator<ListedObject[]> {
  let batch: ListedObject[] = [];
  for await (const object of objects) {
    if (batch.push(object) < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
