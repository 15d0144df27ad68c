import { isStoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { FileEntry, Store } from '../../model/store.ts';
import { alreadyExists, inconsistentStore, versionReplaced } from '../../model/store-errors.ts';
import type { Copier } from './copy.ts';
import type { Entries } from './entries.ts';
import type { Remover } from './remove.ts';

/** Maximum attempts to copy a source that changes during the copy. */
const ATTEMPTS = 3;

/** Creates the operations that copy and move single files. A move removes only the version that it copied. */
export function createFileOperations(
  stat: Store['stat'],
  copier: Copier,
  { remove }: Remover,
  entries: Entries,
): Required<Pick<Store, 'copy' | 'move'>> {
  const copyOf = async (
    from: FilePath,
    to: FilePath,
    { replace, signal }: Parameters<NonNullable<Store['copy']>>[2],
  ) => {
    for (let attempt = 1; ; attempt++) {
      // Some stores ignore the condition that the destination must not exist, so check it here too.
      const [source, found] = await Promise.all([
        stat(from, { signal }),
        replace ? undefined : undefinedIfNotFound(stat(to, { signal })),
      ]);
      if (found) return { source, present: found, conflict: alreadyExists(to) };
      try {
        const etag = await copier.copy({ ...source, key: from }, to, { exclusive: !replace, signal });
        return { source, copy: entries.of(to, { Size: source.size, ETag: etag, ContentType: source.type }) };
      } catch (error) {
        if (isStoreError(error, 'not-found') && (await undefinedIfNotFound(stat(from, { signal })))) {
          // Some stores return 404 for a copy source that exists, because of the characters in its name.
          if (attempt === ATTEMPTS) throw inconsistentStore(from, error);
          continue;
        }
        if (!isStoreError(error, 'condition-failed')) throw error;
        const present = replace ? undefined : await undefinedIfNotFound(stat(to, { signal }));
        if (present) return { source, present, conflict: alreadyExists(to, error) };
        // The destination does not exist, so the condition on the source failed: it has changed.
        if (attempt === ATTEMPTS) throw versionReplaced(from);
      }
    }
  };

  return {
    async copy(from, to, options) {
      const { copy, conflict } = await copyOf(from, to, options);
      if (conflict) throw conflict;
      return copy;
    },

    async move(from, to, options) {
      const { source, present, conflict } = await copyOf(from, to, options);
      // An existing copy is the result of an interrupted move, which this request completes.
      if (conflict && !(await isCopy(copier, source, present, options.signal))) throw conflict;
      await remove(from, { ifMatch: source.etag, signal: options.signal });
    },
  };
}

/** Returns whether the destination is the copy of an interrupted move: it has the same bytes and media type. */
async function isCopy(
  copier: Copier,
  source: FileEntry,
  copy: FileEntry,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (source.size !== copy.size || source.type !== copy.type || source.etag === '') return false;
  return source.etag === copy.etag || copier.isCopyOf(copy.path, source.etag, { signal });
}
