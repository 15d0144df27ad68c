import { createHash } from 'node:crypto';
import { DeleteObjectsCommand } from '@aws-sdk/client-s3';
import { concurrently } from '../../concurrency/concurrently.ts';
import { isStoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { Cancellable, Store } from '../../model/store.ts';
import { inconsistentStore, notFound, requireEtag, versionReplaced } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import { sendConditionally } from './conditions.ts';
import { LONG_TIMEOUT_MS } from './connection.ts';
import type { Entries } from './entries.ts';
import { codeOf } from './errors.ts';
import { fitsXml, type Key, quote, unquote } from './keys.ts';
import type { ListedObject } from './list.ts';
import { headObject } from './read.ts';
import { retryWhenBusy } from './retry.ts';

/** The most keys that one request removes. */
const BATCH = 1000;

/** How many batches are under way at once, and how many requests where each object takes one of its own. */
const BATCHES_AT_ONCE = 2;
const SINGLES_AT_ONCE = 32;

export interface Remover {
  /** `Store.remove`. */
  readonly remove: Store['remove'];
  /**
   * Deletes an object, with `ifMatch` only in this version (`condition-failed`). One that is gone counts as deleted.
   *
   * @throws unsupported if the store says that the object is gone, and it is not.
   */
  removeObject(key: Key, options: { ifMatch?: string } & Cancellable): Promise<void>;
  /** Removes many objects; with `asSeen` those stay that have changed, as far as the store can tell. */
  removeAll(objects: AsyncIterable<ListedObject>, options: RemoveAll): Promise<void>;
}

interface RemoveAll extends Cancellable {
  readonly asSeen: boolean;
  readonly onRemoved?: ((object: ListedObject) => void) | undefined;
}

export function createRemover(bucket: Bucket, entries: Entries, stat: Store['stat']): Remover {
  const { abilities } = bucket;

  /** The etag of the object as it is now; undefined where it is gone. */
  const etagOf = async (key: Key, { signal }: Cancellable): Promise<string | undefined> =>
    unquote((await undefinedIfNotFound(headObject(bucket, key, { signal })))?.ETag) || undefined;

  const send = async (key: Key, ifMatch: string | undefined, { signal }: Cancellable): Promise<void> => {
    try {
      await bucket.ask({ key, signal }, (options) => bucket.objects.remove(key, { ifMatch }, options));
    } catch (error) {
      if (!isStoreError(error, 'not-found')) throw error;
      if ((await etagOf(key, { signal })) !== undefined) throw inconsistentStore(key, error);
    }
  };

  const removeObject: Remover['removeObject'] = async (key, { ifMatch, signal }) => {
    const condition = ifMatch === undefined ? {} : { IfMatch: quote(ifMatch) };
    const check = async () => {
      const etag = await etagOf(key, { signal });
      if (etag === undefined) throw notFound(key as FilePath);
      if (etag !== ifMatch) throw versionReplaced(key as FilePath);
    };
    const ability = ifMatch?.includes('-') ? 'deleteConditionsOnParts' : 'deleteConditions';
    try {
      await sendConditionally(bucket, ability, condition, {
        check,
        send: ({ IfMatch }) => send(key, IfMatch, { signal }),
      });
    } catch (error) {
      if (!isStoreError(error, 'not-found')) throw error;
    }
  };

  /** Returns false if the object was changed since it was listed, and so stays. */
  const removeSeen = async (object: ListedObject, { asSeen, signal }: RemoveAll): Promise<boolean> => {
    try {
      await removeObject(object.key, { ...(asSeen && object.ETag && { ifMatch: unquote(object.ETag) }), signal });
      return true;
    } catch (error) {
      if (!isStoreError(error, 'condition-failed')) throw error;
      return false;
    }
  };

  /**
   * Deletes a batch in one request. Returns the objects that the response does not name as deleted, without those that
   * have changed: a store may know etags in batches, and no condition on the delete of a single object.
   */
  const removeBatch = async (
    batch: readonly ListedObject[],
    { onRemoved, signal }: RemoveAll,
    { hasEtags, hasMd5 }: BatchForm,
  ): Promise<readonly ListedObject[]> => {
    const Objects = batch.map(({ key, ETag }) => ({ Key: key, ...(hasEtags && { ETag }) }));
    const command = new DeleteObjectsCommand({ Bucket: bucket.name, Delete: { Objects } });
    if (hasMd5) addMd5(command);
    const { Deleted = [], Errors = [] } = await bucket.ask({ signal, timeout: LONG_TIMEOUT_MS }, (options) =>
      bucket.client.send(command, options),
    );
    const failed = new Map(Errors.map(({ Key, Code }) => [Key, Code]));
    const removed = new Set(Deleted.map(({ Key }) => Key).filter((key) => !failed.has(key)));
    for (const object of batch) if (removed.has(object.key)) onRemoved?.(object);
    const rest: ListedObject[] = [];
    for (const object of batch) {
      if (removed.has(object.key)) continue;
      const isDoubtful = hasEtags && isPrecondition(failed.get(object.key));
      if (!isDoubtful || (await etagOf(object.key, { signal })) === unquote(object.ETag)) rest.push(object);
    }
    return rest;
  };

  /**
   * Deletes a batch in a form that the store takes: with etags, with Content-MD5, without etags. Returns the objects
   * that have to be deleted one by one. A form is believed to be refused if the store refuses it twice, the same batch
   * passes in another one, and no batch has passed before.
   */
  const tryBatch = async (batch: readonly ListedObject[], options: RemoveAll): Promise<readonly ListedObject[]> => {
    if (!abilities.has('batchDeletes') || batch.length === 0) return batch;
    const first: BatchForm = {
      hasEtags: options.asSeen && abilities.has('batchEtags'),
      hasMd5: !abilities.has('deletesWithoutMd5'),
    };
    const isConfirmed = abilities.isConfirmed(first.hasEtags ? 'batchEtags' : 'batchDeletes');
    let code: string | undefined;
    let form: BatchForm | undefined = first;
    for (let attempt = 1; form !== undefined; attempt++) {
      try {
        const rest = await removeBatch(batch, options, form);
        abilities.confirm('batchDeletes');
        if (form.hasEtags) abilities.confirm('batchEtags');
        if (form.hasMd5 !== first.hasMd5) abilities.lose('deletesWithoutMd5', { code });
        if (form.hasEtags !== first.hasEtags) abilities.lose('batchEtags', { code });
        return rest;
      } catch (error) {
        // What fails in passing tells nothing of what the store takes.
        const refusal = refusalOf(error);
        if (refusal === undefined) throw error;
        code ??= refusal;
      }
      if (attempt === 1) continue;
      if (isConfirmed || isPrecondition(code)) return batch;
      form = nextForm(form, first, code);
    }
    abilities.lose('batchDeletes', { code });
    return batch;
  };

  return {
    removeObject,

    async remove(file, { ifMatch, signal } = {}) {
      // A store says nothing where there is nothing to remove.
      requireEtag(await stat(file, { signal }), ifMatch);
      entries.forget(file);
      // Also finds it gone by the same request, whose first response was lost.
      await removeObject(file, { ifMatch, signal }).catch((error: unknown) => {
        throw isStoreError(error, 'condition-failed') ? versionReplaced(file) : error;
      });
    },

    async removeAll(objects, options) {
      const { signal, onRemoved } = options;
      const removeSingly = async (object: ListedObject) => {
        if (await retryWhenBusy(() => removeSeen(object, options), options)) onRemoved?.(object);
      };
      await concurrently(
        inBatches(objects),
        BATCHES_AT_ONCE,
        async (batch) => {
          const fit = batch.filter(({ key }) => fitsXml(key));
          const rest = await retryWhenBusy(() => tryBatch(fit, options), options);
          const unfit = batch.filter(({ key }) => !fitsXml(key));
          await concurrently(each([...rest, ...unfit]), SINGLES_AT_ONCE, removeSingly, signal);
        },
        signal,
      );
      entries.forget();
    },
  };
}

interface BatchForm {
  readonly hasEtags: boolean;
  readonly hasMd5: boolean;
}

/** The form to try after one that was refused: by the code of the first refusal, Content-MD5 is missing or etags are too many. */
function nextForm(
  refused: BatchForm,
  { hasEtags, hasMd5 }: BatchForm,
  code: string | undefined,
): BatchForm | undefined {
  const withMd5 = { hasEtags, hasMd5: true };
  const withoutEtags = { hasEtags: false, hasMd5 };
  const order = /MD5|Digest|InvalidRequest/.test(code ?? '') ? [withMd5, withoutEtags] : [withoutEtags, withMd5];
  const forms = [{ hasEtags, hasMd5 }, ...order, { hasEtags: false, hasMd5: true }];
  const isSame = (form: BatchForm) => form.hasEtags === refused.hasEtags && form.hasMd5 === refused.hasMd5;
  return forms.slice(forms.findLastIndex(isSame) + 1)[0];
}

/** Sends the MD5 of the body, which the client for S3 computes for no request any more. */
function addMd5({ middlewareStack }: DeleteObjectsCommand): void {
  middlewareStack.add(
    (next) => (given) => {
      const { request } = given;
      if (typeof request === 'object' && request !== null && 'headers' in request && 'body' in request) {
        const headers = request.headers as Record<string, string>;
        headers['content-md5'] = createHash('md5').update(String(request.body)).digest('base64');
      }
      return next(given);
    },
    { step: 'build', name: 'addMd5' },
  );
}

/**
 * The codes with which stores refuse a batch as such: some require Content-MD5, which the client no longer sends
 * (MissingContentMD5, or InvalidRequest with the same meaning), some know no etags in batches, some know no batches, and
 * some may refuse a batch because one of its objects has changed (412).
 */
const REFUSALS =
  /MissingContentMD5|InvalidDigest|InvalidRequest|MalformedXML|NotImplemented|MethodNotAllowed|InvalidArgument|PreconditionFailed|^501$|^405$|^412$/;

const isPrecondition = (code: string | undefined) => code === 'PreconditionFailed' || code === '412';

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
