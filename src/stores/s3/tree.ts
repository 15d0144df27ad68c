import { PutObjectCommand } from '@aws-sdk/client-s3';
import type { ItemTree } from '../../files/item-tree.ts';
import { isStoreError } from '../../model/error.ts';
import { type FilePath, type FolderPath, rebase } from '../../model/path.ts';
import type { Cancellable, Replacing, Store } from '../../model/store.ts';
import { alreadyExists, notEmpty, notFound, preconditionFailed, versionReplaced } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, sendConditionally } from './conditions.ts';
import type { Copier, Source } from './copy.ts';
import { requireStored } from './errors.ts';
import { isEmptyMarker, type Key, lineageOf, unquote } from './keys.ts';
import { type ListedObject, requestPage } from './list.ts';
import type { Remover } from './remove.ts';
import { retryWhenBusy } from './retry.ts';
import { walkAhead, walkInAnyOrder, walkObjects } from './walk.ts';

/** Maximum attempts to copy an object that changes during the copy. */
const ATTEMPTS = 3;

/**
 * Creates the tree of objects for folder operations. A folder consists of all objects whose keys begin with its path.
 * They include folder markers and keys that are not valid paths, so that folder operations cover them too.
 */
export function createObjectTree(
  bucket: Bucket,
  copier: Copier,
  remover: Remover,
  concurrency: number,
): ItemTree<ListedObject> {
  /**
   * Copies the current version of the object.
   *
   * @throws already-exists if the destination exists and `replace` is not set
   * @throws not-found if the source does not exist, or the store reports so
   */
  const copyObject = async (seen: Source, to: Key, { replace, signal }: Replacing & Cancellable): Promise<void> => {
    let source = seen;
    for (let attempt = 1; ; attempt++) {
      try {
        const current = source;
        await retryWhenBusy(() => copier.copyQuickly(current, to, { exclusive: !replace, signal }), { signal });
        return;
      } catch (error) {
        if (!isStoreError(error, 'condition-failed')) throw error;
        if (!replace && (await copier.find(to, { signal }))) throw alreadyExists(to as FilePath, error);
        if (attempt === ATTEMPTS) throw versionReplaced(seen.key as FilePath);
        const current = await copier.find(seen.key, { signal });
        if (current === undefined) throw notFound(seen.key as FilePath, error);
        source = current;
      }
    }
  };

  /** Returns the ETag of an object. Requests it if the listing contains none, as on some stores. */
  const etagOf = async ({ key, ETag }: ListedObject, { signal }: Cancellable): Promise<string> =>
    unquote(ETag) || ((await copier.find(key, { signal }))?.etag ?? '');

  return {
    concurrency,
    isNested: false,
    requireFolder: (folder, options) => requireFolder(bucket, folder, options),
    walk: (folder, options) => walkObjects(bucket, folder, options),
    walkForComparison: (folder, options) => walkAhead(bucket, folder, options),
    walkInAnyOrder: (folder, options) => walkInAnyOrder(bucket, folder, options),
    relativePath: ({ key }, folder) => key.slice(folder.length),
    isFile: (object) => !isEmptyMarker(object),
    isPresent: async (path, folder, options) => (await copier.find(folder + path, options)) !== undefined,
    versionOf: ({ size, ETag, LastModified }) => `${size} ${ETag} ${LastModified?.getTime()}`,

    async isSame(source, copy, { signal }) {
      if (source.size !== copy.size) return false;
      const [etag, etagOfCopy] = await Promise.all([etagOf(source, { signal }), etagOf(copy, { signal })]);
      return etag !== '' && (etag === etagOfCopy || copier.isCopyOf(copy.key, etag, { signal }));
    },

    async copy(object, { from, to }, options) {
      const { key, size } = object;
      const copy = rebase(key as FilePath, from, to);
      await copyObject({ key, size, etag: await etagOf(object, options) }, copy, options);
    },

    remove: (objects, options) => remover.removeAll(objects, options),
  };
}

/**
 * Creates the operations on single folders. A folder exists if the key of any object begins with its path. An empty
 * folder has a marker: an empty object whose key is the path of the folder.
 */
export function createFolderOperations(
  bucket: Bucket,
  copier: Copier,
  { removeObject }: Remover,
): Pick<Store, 'createFolder' | 'removeFolder'> {
  /** Creates a folder marker. Never replaces an object, because markers of other programs may have content. */
  const mark = async (folder: FolderPath, { signal }: Cancellable): Promise<void> => {
    if (await copier.find(folder, { signal })) return;
    const object = { Bucket: bucket.name, Key: folder, Body: '', ContentLength: 0 };
    const put = async (condition: ConditionHeaders) => {
      const { ETag } = await bucket.ask({ key: folder, signal }, (options) =>
        bucket.client.send(new PutObjectCommand({ ...object, ...condition }), options),
      );
      requireStored(ETag, bucket.endpoint);
    };
    const check = async () => {
      if (await copier.find(folder, { signal })) throw preconditionFailed(folder as string as FilePath);
    };
    try {
      await sendConditionally(bucket, 'putIfNoneMatch', { IfNoneMatch: '*' }, { check, send: put });
    } catch (error) {
      // Another client has created the folder meanwhile.
      if (!isStoreError(error, 'condition-failed') || !(await copier.find(folder, { signal }))) throw error;
    }
  };

  return {
    async createFolder(folder, { signal } = {}) {
      await Promise.all(lineageOf(folder).map((each) => mark(each, { signal })));
    },

    async removeFolder(folder, { signal } = {}) {
      const { objects, undecodable } = await requestPage(bucket, { prefix: folder, limit: 2, signal });
      if (objects.length + undecodable === 0) throw notFound(folder);
      if (objects.length + undecodable > 1 || !objects.every(isEmptyMarker)) throw notEmpty(folder);
      await removeObject(folder, { signal });
    },
  };
}

/** Throws `not-found` unless the folder contains an object or has a marker. */
export async function requireFolder(bucket: Bucket, folder: FolderPath, { signal }: Cancellable): Promise<void> {
  const { objects, undecodable } = await requestPage(bucket, { prefix: folder, limit: 1, signal });
  if (objects.length + undecodable === 0) throw notFound(folder);
}
