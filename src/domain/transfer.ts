import { ifThere, isStoreError, isThere } from './error.ts';
import type { FilePath } from './path.ts';
import { changedMeanwhile, existsAlready, missingThoughPresent } from './problems.ts';
import type { Cancellable, FileEntry, Replacing, Store } from './store.ts';
import { isSameFile } from './walk.ts';

/**
 * Copies one file, by the store itself where it can, else through the service. Without `replace`, the presence
 * of a destination is found before a byte is read, and once more when the copy is put in its place.
 */
export async function copyFile(
  store: Store,
  from: FilePath,
  to: FilePath,
  { replace, ...options }: Replacing & Cancellable,
): Promise<FileEntry> {
  if (store.copy) return store.copy(from, to, { replace, ...options });
  const source = await store.stat(from, options);
  if (!replace && (await ifThere(store.stat(to, options)))) throw existsAlready(to);
  const { body, file } = await store.read(from, { ...options, ifMatch: source.etag }).catch(async (error: unknown) => {
    const isWrong = isStoreError(error, 'not-found') && (await isThere(store.stat(from, options)));
    throw isWrong ? missingThoughPresent(from, error) : error;
  });
  try {
    const condition = replace ? undefined : 'absent';
    const modified = () => file.modified ?? undefined;
    return await store.write(to, { body, size: file.size, type: file.type, modified }, { ...options, condition });
  } catch (error) {
    throw !replace && isStoreError(error, 'condition-failed') ? existsAlready(to, error) : error;
  }
}

/**
 * Moves one file, by the store itself where it can, else by a copy and the removal of the version copied: what
 * was written to the source meanwhile stays there. A copy that is there already is what an interrupted move leaves, and
 * is taken for the one to make.
 */
export async function moveFile(
  store: Store,
  from: FilePath,
  to: FilePath,
  options: Replacing & Cancellable,
): Promise<void> {
  if (store.move) return store.move(from, to, options);
  const source = await store.stat(from, options);
  const present = await ifThere(store.stat(to, options));
  const copy = isSameFile(source, present) ? source : await copyFile(store, from, to, options);
  if (copy.size !== source.size) throw changedMeanwhile(from);
  await store.remove(from, { ...options, ifMatch: source.etag });
}
