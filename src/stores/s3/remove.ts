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

/** Maximum keys of one DeleteObjects request. */
const BATCH = 1000;

/** Maximum batches in progress, and maximum delete requests in progress for single objects of a batch. */
const BATCHES_AT_ONCE = 2;
const SINGLES_AT_ONCE = 32;

export interface Remover {
  /** `Store.remove`. */
  readonly remove: Store['remove'];
  /**
   * Deletes an object. With `ifMatch`, deletes only the version with this ETag. Succeeds if the object does not exist.
   *
   * @throws condition-failed if the object has a different ETag than `ifMatch`
   * @throws unsupported if the store reports that the object does not exist, although it does
   */
  removeObject(key: Key, options: { ifMatch?: string } & Cancellable): Promise<void>;
  /** Removes many objects. With `onlyUnchanged`, keeps the objects that have changed, if the store supports conditions. */
  removeAll(objects: AsyncIterable<ListedObject>, options: RemoveAll): Promise<void>;
}

interface RemoveAll extends Cancellable {
  readonly onlyUnchanged: boolean;
  readonly onRemoved?: ((object: ListedObject) => void) | undefined;
}

export function createRemover(bucket: Bucket, entries: Entries, stat: Store['stat']): Remover {
  const { abilities } = bucket;

  /** Returns the current ETag of the object, or undefined if it does not exist. */
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

  /** Deletes a listed object. Returns false if it has changed since the listing and therefore remains. */
  const removeSeen = async (object: ListedObject, { onlyUnchanged, signal }: RemoveAll): Promise<boolean> => {
    try {
      await removeObject(object.key, {
        ...(onlyUnchanged && object.ETag && { ifMatch: unquote(object.ETag) }),
        signal,
      });
      return true;
    } catch (error) {
      if (!isStoreError(error, 'condition-failed')) throw error;
      return false;
    }
  };

  /**
   * Deletes a batch in one request. Returns the objects that the caller must delete one by one: those that the response
   * does not list as deleted, except those that have changed. A store may support ETags in batches, but no condition on
   * the delete of a single object.
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
   * Deletes a batch in a form that the store supports: with or without ETags, with or without Content-MD5. Returns the
   * objects that the caller must delete one by one. A form counts as unsupported if the store rejects it twice, accepts
   * the same batch in another form, and has accepted no batch before.
   */
  const tryBatch = async (batch: readonly ListedObject[], options: RemoveAll): Promise<readonly ListedObject[]> => {
    if (!abilities.has('batchDeletes') || batch.length === 0) return batch;
    const first: BatchForm = {
      hasEtags: options.onlyUnchanged && abilities.has('batchEtags'),
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
        // A temporary error does not prove that the form is unsupported.
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
      // DeleteObject also succeeds if the object does not exist, so check that first.
      requireEtag(await stat(file, { signal }), ifMatch);
      entries.forget(file);
      // A retry succeeds although the first attempt, whose response was lost, has deleted the object.
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

/**
 * Returns the form to try after a rejected one, or undefined after the last. The code of the first rejection decides
 * whether to add Content-MD5 or to omit ETags first.
 */
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

/** Adds the Content-MD5 header, which the AWS SDK client no longer sends. */
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
 * Codes with which stores reject a whole batch. Some stores require Content-MD5, which the AWS SDK client no longer
 * sends (MissingContentMD5, or InvalidRequest with the same meaning). Some do not support ETags in batches, or batches
 * at all. Some may reject a batch because one of its objects has changed (412).
 */
const REFUSALS =
  /MissingContentMD5|InvalidDigest|InvalidRequest|MalformedXML|NotImplemented|MethodNotAllowed|InvalidArgument|PreconditionFailed|^501$|^405$|^412$/;

const isPrecondition = (code: string | undefined) => code === 'PreconditionFailed' || code === '412';

/** Returns the code with which the store rejected a whole batch, or undefined for other errors. */
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
