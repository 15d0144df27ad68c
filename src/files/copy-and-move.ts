import { exists, isStoreError, undefinedIfNotFound } from '../model/error.ts';
import type { FilePath } from '../model/path.ts';
import type { Cancellable, FileEntry, Replacing, Store } from '../model/store.ts';
import { alreadyExists, inconsistentStore, versionReplaced } from '../model/store-errors.ts';
import { isSameFile } from './walk.ts';

/**
 * Copies one file: inside the store if it can, otherwise by reading and writing it. Without `replace`, checks for an
 * existing destination before the read, and again when the copy is committed.
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
 * Moves one file: inside the store if it can, otherwise by a copy and the removal of the copied version. A version
 * that is written to the source during the copy remains. An identical file at the destination counts as the copy of
 * an interrupted move.
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
