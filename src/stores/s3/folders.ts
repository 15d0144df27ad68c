import { PutObjectCommand } from '@aws-sdk/client-s3';
import { isStoreError } from '../../domain/error.ts';
import type { FilePath, FolderPath } from '../../domain/path.ts';
import { notEmpty, notFound, presentAgainstCondition } from '../../domain/problems.ts';
import type { Cancellable, Store } from '../../domain/store.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, sendConditionally } from './conditions.ts';
import type { Copier } from './copy.ts';
import { decodeKey, isEmptyMarker, lineageOf } from './keys.ts';
import { askForList } from './list.ts';
import type { Remover } from './remove.ts';

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
    const put = (condition: ConditionHeaders) =>
      bucket.ask({ key: folder, signal }, (options) =>
        bucket.client.send(new PutObjectCommand({ ...object, ...condition }), options),
      );
    const check = async () => {
      if (await copier.find(folder, { signal })) throw presentAgainstCondition(folder as string as FilePath);
    };
    try {
      await sendConditionally(bucket, 'putConditions', { IfNoneMatch: '*' }, { check, send: put });
    } catch (error) {
      if (!isStoreError(error, 'condition-failed')) throw error;
    }
  };

  return {
    async createFolder(folder, { signal } = {}) {
      await Promise.all(lineageOf(folder).map((each) => mark(each, { signal })));
    },

    async removeFolder(folder, { signal } = {}) {
      const found = await firstIn(bucket, folder, 2, { signal });
      if (found.length === 0) throw notFound(folder);
      if (found.some((object) => !isEmptyMarker(object) || found.length > 1)) {
        throw notEmpty(folder);
      }
      await removeObject(folder, { signal });
    },
  };
}

/** Throws `not-found` unless anything lies in the folder, or its marker does. */
export async function requireFolder(bucket: Bucket, folder: FolderPath, options: Cancellable): Promise<void> {
  if ((await firstIn(bucket, folder, 1, options)).length === 0) throw notFound(folder);
}

async function firstIn(bucket: Bucket, folder: FolderPath, most: number, { signal }: Cancellable) {
  const query = { prefix: folder, 'max-keys': String(most), 'encoding-type': 'url' };
  const { isEscaped, objects } = await askForList(bucket, query, { signal });
  return objects.map(({ key, size }) => ({ key: isEscaped ? (decodeKey(key) ?? key) : key, size }));
}
