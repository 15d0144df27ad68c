import { PutObjectCommand } from '@aws-sdk/client-s3';
import { isStoreError } from '../../domain/error.ts';
import type { FilePath, FolderPath } from '../../domain/path.ts';
import { notEmpty, notFound, presentAgainstCondition } from '../../domain/problems.ts';
import type { Cancellable, Store } from '../../domain/store.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, sendConditionally } from './conditions.ts';
import type { Copier } from './copy.ts';
import { isEmptyMarker, lineageOf } from './keys.ts';
import { askForPage } from './list.ts';
import type { Remover } from './remove.ts';
import { requireStored } from './translate.ts';

/**
 * Single folders. A folder is there when the key of any object begins with its path; one that holds nothing has a marker,
 * an empty object whose key is that path.
 */
export function createFolderOperations(
  bucket: Bucket,
  copier: Copier,
  { removeObject }: Remover,
): Pick<Store, 'createFolder' | 'removeFolder'> {
  /** Something that is there already is left as it is: others may have put more into a marker than we do. */
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
      if (await copier.find(folder, { signal })) throw presentAgainstCondition(folder as string as FilePath);
    };
    try {
      await sendConditionally(bucket, 'putIfNoneMatch', { IfNoneMatch: '*' }, { check, send: put });
    } catch (error) {
      // Another client has made the folder meanwhile.
      if (!isStoreError(error, 'condition-failed') || !(await copier.find(folder, { signal }))) throw error;
    }
  };

  return {
    async createFolder(folder, { signal } = {}) {
      await Promise.all(lineageOf(folder).map((each) => mark(each, { signal })));
    },

    async removeFolder(folder, { signal } = {}) {
      const { objects, undecodable } = await askForPage(bucket, { prefix: folder, limit: 2, signal });
      if (objects.length + undecodable === 0) throw notFound(folder);
      if (objects.length + undecodable > 1 || !objects.every(isEmptyMarker)) throw notEmpty(folder);
      await removeObject(folder, { signal });
    },
  };
}

/** Throws `not-found` unless anything lies in the folder, or its marker does. */
export async function requireFolder(bucket: Bucket, folder: FolderPath, { signal }: Cancellable): Promise<void> {
  const { objects, undecodable } = await askForPage(bucket, { prefix: folder, limit: 1, signal });
  if (objects.length + undecodable === 0) throw notFound(folder);
}
