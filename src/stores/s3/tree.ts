import { createHash } from 'node:crypto';
import type { ItemTree } from '../../files/item-tree.ts';
import { isStoreError } from '../../model/error.ts';
import { type FilePath, type FolderPath, rebase } from '../../model/path.ts';
import type { Cancellable, Replacing } from '../../model/store.ts';
import { alreadyExists, notFound, versionReplaced } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import type { Copier } from './copy.ts';
import type { Source } from './copy-source.ts';
import { isEmptyMarker, type Key, maxPathBytesOf } from './keys.ts';
import type { Leases } from './lease.ts';
import { requestPage } from './list.ts';
import type { ListedObject } from './operations.ts';
import type { Remover } from './remove.ts';
import { retryWhenBusy } from './retry.ts';
import { walkAhead, walkInAnyOrder, walkObjects } from './walk.ts';

/** Maximum attempts to copy an object that changes during the copy. */
const MAX_COPY_ATTEMPTS = 3;

export interface ObjectTreeOptions {
  readonly copier: Copier;
  readonly remover: Remover;
  readonly leases: Leases;
  readonly concurrency: number;
}

/**
 * Creates the tree of objects for folder operations. A folder consists of all objects whose keys begin with its path.
 * They include folder markers and keys that are not valid paths, so that folder operations cover them too.
 */
export function createObjectTree(
  bucket: Bucket,
  { copier, remover, leases, concurrency }: ObjectTreeOptions,
): ItemTree<ListedObject> {
  const maxPathBytes = maxPathBytesOf(bucket);
  return {
    concurrency,
    maxPathBytes,
    isNested: false,
    requireFolder: (folder, options) => requireFolder(bucket, folder, options),
    walk: (folder, options) => walkObjects(bucket, folder, options),
    walkStrictly: (folder, options) => walkObjects(bucket, folder, { ...options, isStrict: true }),
    walkForComparison: (folder, options) => walkAhead(bucket, folder, options),
    walkInAnyOrder: (folder, options) => walkInAnyOrder(bucket, folder, options),
    relativePath: ({ key }, folder) => key.slice(folder.length),
    isFile: (object) => !isEmptyMarker(object),
    isPresent: async (path, folder, options) => (await copier.find(folder + path, options)) !== undefined,
    versionOf: ({ size, etag, modified }) => `${size} ${etag} ${modified?.getTime()}`,

    async isSame(source, copy, { signal }) {
      if (source.size !== copy.size) return false;
      const options = { signal };
      const [etag, copyEtag] = await Promise.all([etagOf(copier, source, options), etagOf(copier, copy, options)]);
      return etag !== '' && (etag === copyEtag || copier.isCopyOf(copy.key, etag, options));
    },

    async copy(object, { from, to }, options) {
      const { key, size } = object;
      const destination = rebase(key as FilePath, from, to, maxPathBytes);
      await copyCurrent(copier, { key, size, etag: await etagOf(copier, object, options) }, destination, options);
    },

    useExclusively: (to, options) =>
      leases.acquire(`copy-${createHash('sha256').update(to).digest('hex')}`, '', options),
    remove: (objects, options) => remover.removeAll(objects, options),
  };
}

/**
 * Copies the current version of an object.
 *
 * @throws already-exists if the destination exists and `replace` is not set
 * @throws not-found if the source does not exist, or the store reports so
 */
async function copyCurrent(
  copier: Copier,
  listed: Source,
  to: Key,
  { replace, signal }: Replacing & Cancellable,
): Promise<void> {
  let source = listed;
  for (let attempt = 1; ; attempt++) {
    try {
      const current = source;
      await retryWhenBusy(() => copier.copyQuickly(current, to, { exclusive: !replace, signal }), { signal });
      return;
    } catch (error) {
      if (!isStoreError(error, 'condition-failed')) throw error;
      if (!replace && (await copier.find(to, { signal }))) throw alreadyExists(to as FilePath, error);
      if (attempt === MAX_COPY_ATTEMPTS) throw versionReplaced(listed.key as FilePath);
      const current = await copier.find(listed.key, { signal });
      if (current === undefined) throw notFound(listed.key as FilePath, error);
      source = current;
    }
  }
}

/** Returns the ETag of an object. Requests it if the listing contains none, as on some stores. */
async function etagOf(copier: Copier, { key, etag }: ListedObject, { signal }: Cancellable): Promise<string> {
  return etag || ((await copier.find(key, { signal }))?.etag ?? '');
}

/** Throws `not-found` unless the folder contains an object or has a marker. */
async function requireFolder(bucket: Bucket, folder: FolderPath, { signal }: Cancellable): Promise<void> {
  const { objects, undecodable } = await requestPage(bucket, { prefix: folder, limit: 1, signal });
  if (objects.length + undecodable.length === 0) throw notFound(folder);
}
