import { exists, isStoreError, undefinedIfNotFound } from '../model/error.ts';
import type { FilePath } from '../model/path.ts';
import type { Cancellable, FileEntry, Replacing, Store } from '../model/store.ts';
import { alreadyExists, inconsistentStore, versionReplaced } from '../model/store-errors.ts';
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
  if (!replace && (await undefinedIfNotFound(store.stat(to, options)))) throw alreadyExists(to);
  const { body, file } = await store.read(from, { ...options, ifMatch: source.etag }).catch(async (error: unknown) => {
    const isWrong = isStoreError(error, 'not-found') && (await exists(store.stat(from, options)));
    throw isWrong ? inconsistentStore(from, error) : error;
  });
  try {
    const condition = replace ? undefined : 'absent';
    const modified = () => file.modified ?? undefined;
    return await store.write(to, { body, size: file.size, type: file.type, modified }, { ...options, condition });
  } catch (error) {
    throw !replace && isStoreError(error, 'condition-failed') ? alreadyExists(to, error) : error;
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
  const present = await undefinedIfNotFound(store.stat(to, options));
  const copy = isSameFile(source, present) ? source : await copyFile(store, from, to, options);
  if (copy.size !== source.size) throw versionReplaced(from);
  await store.remove(from, { ...options, ifMatch: source.etag });
}
