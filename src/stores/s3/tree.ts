import { isStoreError } from '../../domain/error.ts';
import type { ItemTree } from '../../domain/item-tree.ts';
import { type FilePath, rebase } from '../../domain/path.ts';
import { changedMeanwhile, existsAlready, notFound } from '../../domain/problems.ts';
import type { Cancellable, Replacing } from '../../domain/store.ts';
import type { Bucket } from './bucket.ts';
import type { Copier, Source } from './copy.ts';
import { requireFolder } from './folders.ts';
import { isEmptyMarker, type Key, unquote } from './keys.ts';
import type { ListedObject } from './list.ts';
import { patiently } from './patience.ts';
import type { Remover } from './remove.ts';
import { walkInAnyOrder, walkObjects } from './walk.ts';
import { walkAhead } from './walk-ahead.ts';

/** How often an object is tried that is written to meanwhile. */
const ATTEMPTS = 3;

/**
 * A folder as the objects whose keys begin with its path, markers and keys that no path can name among them: they are
 * copied, moved and removed with their folder.
 */
export function createObjectTree(
  bucket: Bucket,
  copier: Copier,
  remover: Remover,
  concurrency: number,
): ItemTree<ListedObject> {
  /** Copies the current version of the object. Throws `not-found` if it is gone, or the store says so. */
  const copyObject = async (seen: Source, to: Key, { replace, signal }: Replacing & Cancellable): Promise<void> => {
    let source = seen;
    for (let attempt = 1; ; attempt++) {
      try {
        const current = source;
        await patiently(() => copier.copyQuickly(current, to, { exclusive: !replace, signal }), { signal });
        return;
      } catch (error) {
        if (!isStoreError(error, 'condition-failed')) throw error;
        if (!replace && (await copier.find(to, { signal }))) throw existsAlready(to as FilePath, error);
        if (attempt === ATTEMPTS) throw changedMeanwhile(seen.key as FilePath);
        const current = await copier.find(seen.key, { signal });
        if (current === undefined) throw notFound(seen.key as FilePath, error);
        source = current;
      }
    }
  };

  /** Some stores tell no etags in listings. */
  const etagOf = async ({ key, ETag }: ListedObject, { signal }: Cancellable): Promise<string> =>
    unquote(ETag) || ((await copier.find(key, { signal }))?.etag ?? '');

  return {
    concurrency,
    isNested: false,
    requireFolder: (folder, options) => requireFolder(bucket, folder, options),
    walk: (folder, options) => walkObjects(bucket, folder, options),
    walkAhead: (folder, options) => walkAhead(bucket, folder, options),
    walkInAnyOrder: (folder, options) => walkInAnyOrder(bucket, folder, options),
    below: ({ key }, folder) => key.slice(folder.length),
    isFile: (object) => !isEmptyMarker(object),
    isPresent: async (below, folder, options) => (await copier.find(folder + below, options)) !== undefined,
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
