import { isStoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { FileEntry, Store } from '../../model/store.ts';
import { alreadyExists, inconsistentStore, versionReplaced } from '../../model/store-errors.ts';
import type { Copier } from './copy.ts';
import type { Entries } from './entries.ts';
import type { Remover } from './remove.ts';

/** How often a copy is begun anew, where its source is written to meanwhile. */
const ATTEMPTS = 3;

/** Copies and moves of single files. A move removes the version that it copied, and no other. */
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
      // Some stores pass over the condition that nothing is replaced, so that it is looked at here as well.
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
        // What the store refused is the source, which is another version by now.
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
      // A copy that is there already is what an interrupted move leaves.
      if (conflict && !(await isCopy(copier, source, present, options.signal))) throw conflict;
      await remove(from, { ifMatch: source.etag, signal: options.signal });
    },
  };
}

/** Whether what is at the destination is the copy of a move that was interrupted: of the same bytes and type. */
async function isCopy(
  copier: Copier,
  source: FileEntry,
  copy: FileEntry,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (source.size !== copy.size || source.type !== copy.type || source.etag === '') return false;
  return source.etag === copy.etag || copier.isCopyOf(copy.path, source.etag, { signal });
}
