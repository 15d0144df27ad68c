import { DeleteObjectCommand, DeleteObjectsCommand } from '@aws-sdk/client-s3';
import { concurrently } from '../../domain/concurrently.ts';
import { isStoreError } from '../../domain/error.ts';
import { changedMeanwhile, requireEtag } from '../../domain/problems.ts';
import type { Cancellable, Store } from '../../domain/store.ts';
import type { Bucket } from './bucket.ts';
import type { Entries } from './entries.ts';
import { fitsXml, type Key, quote, unquote } from './keys.ts';
import type { ListedObject } from './list.ts';
import { codeOf } from './translate.ts';

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
    const command = new DeleteObjectCommand({
      Bucket: bucket.name,
      Key: key,
      ...(isConditional && { IfMatch: quote(ifMatch) }),
    });
    try {
      await bucket.ask({ key, signal }, (options) => bucket.client.send(command, options));
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

  /** Removes a batch in one request; gives the objects that want a request of their own. */
  const removeBatch = async (batch: readonly ListedObject[], options: RemoveAll): Promise<readonly ListedObject[]> => {
    const asSeen = options.asSeen && able.conditions;
    const Objects = batch.map(({ key, ETag }) => ({ Key: key, ...(asSeen && { ETag }) }));
    const command = new DeleteObjectsCommand({ Bucket: bucket.name, Delete: { Objects, Quiet: true } });
    try {
      const output = await bucket.ask({ signal: options.signal }, (send) => bucket.client.send(command, send));
      const failed = new Map((output.Errors ?? []).map(({ Key, Code }) => [Key, Code]));
      // What was refused is not said, so that each is asked for again.
      if (failed.has(undefined)) return batch;
      for (const object of batch) if (!failed.has(object.key)) options.onRemoved?.(object);
      return batch.filter(({ key }) => failed.has(key) && failed.get(key) !== 'PreconditionFailed');
    } catch (error) {
      const code = codeOf(error) ?? codeOf(error instanceof Error ? error.cause : undefined) ?? '';
      if (!REFUSALS.test(code)) throw error;
      if (asSeen && !LACKS_DIGEST.test(code)) able.conditions = false;
      else able.batches = false;
      return able.batches ? removeBatch(batch, options) : batch;
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
        throw isStoreError(error, 'condition-failed') ? changedMeanwhile(file) : error;
      }
    },

    async removeAll(objects, options) {
      const { signal, onRemoved } = options;
      const removeSingly = async (object: ListedObject) => {
        await removeSeen(object, options);
        onRemoved?.(object);
      };
      await concurrently(
        inBatches(objects),
        BATCHES_AT_ONCE,
        async (batch) => {
          const rest = able.batches
            ? await removeBatch(
                batch.filter(({ key }) => fitsXml(key)),
                options,
              )
            : batch;
          const unfit = able.batches ? batch.filter(({ key }) => !fitsXml(key)) : [];
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
const LACKS_DIGEST = /MissingContentMD5|InvalidDigest/;

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
