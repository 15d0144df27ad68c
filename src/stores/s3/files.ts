import { isStoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath, FolderPath } from '../../model/path.ts';
import type { Cancellable, FileEntry, Keeping, Moving, Replacing, Store, WriteCondition } from '../../model/store.ts';
import {
  alreadyExists,
  inconsistentStore,
  notEmpty,
  notFound,
  preconditionFailed,
  requireCondition,
  versionReplaced,
} from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import { IF_ABSENT, sendConditionally } from './capabilities.ts';
import type { Copier } from './copy.ts';
import type { Source } from './copy-source.ts';
import type { Entries } from './entries.ts';
import { ancestorsOf, isEmptyMarker } from './keys.ts';
import { requestPage } from './list.ts';
import { putObject } from './operations.ts';
import type { Remover } from './remove.ts';
import type { Replacer } from './replace.ts';

/** Maximum attempts to copy a source that changes during the copy. */
const MAX_COPY_ATTEMPTS = 3;

/** The parts of a bucket that operations on single files and folders need. */
export interface FileContext {
  readonly bucket: Bucket;
  readonly entries: Entries;
  readonly stat: Store['stat'];
  readonly copier: Copier;
  readonly remover: Remover;
  readonly replacer: Replacer;
}

/** Copies a file. */
export async function copyFile(
  context: FileContext,
  from: FilePath,
  to: FilePath,
  options: Replacing & Keeping & Cancellable,
): Promise<FileEntry> {
  const outcome = await tryCopy(context, from, to, options);
  if ('conflict' in outcome) throw outcome.conflict;
  return outcome.copy;
}

/** Moves a file. Removes only the version that was copied. */
export async function moveFile(
  context: FileContext,
  from: FilePath,
  to: FilePath,
  { onNewEtag, ...options }: Moving,
): Promise<void> {
  const outcome = await tryCopy(context, from, to, options);
  const { source } = outcome;
  // An existing copy is the result of an interrupted move, which this request completes.
  if ('conflict' in outcome && !(await isCopy(context, source, outcome.present, options))) throw outcome.conflict;
  await context.remover.remove(from, { ifMatch: source.etag, signal: options.signal });
  const { etag } = 'conflict' in outcome ? outcome.present : outcome.copy;
  if (etag !== source.etag) onNewEtag?.(etag);
}

/** The copied file, or the file that exists at the destination. */
type CopyOutcome =
  | { readonly source: FileEntry; readonly copy: FileEntry }
  | { readonly source: FileEntry; readonly present: FileEntry; readonly conflict: Error };

async function tryCopy(
  { stat, copier, entries, replacer }: FileContext,
  from: FilePath,
  to: FilePath,
  { replace, keep, signal }: Replacing & Keeping & Cancellable,
): Promise<CopyOutcome> {
  const findDestination = () => (replace ? undefined : undefinedIfNotFound(stat(to, { signal })));
  const attributes = await replacer.attributesOf(keep);
  for (let attempt = 1; ; attempt++) {
    // Some stores ignore the condition that the destination must not exist, so check it here too.
    const [source, found] = await Promise.all([stat(from, { signal }), findDestination()]);
    if (found) return { source, present: found, conflict: alreadyExists(to) };
    try {
      const etag = await replacer.replace(to, { condition: replace ? undefined : 'absent', keep }, (condition) =>
        copier.copy({ ...source, key: from }, to, { ...destinationOf(condition), attributes, signal }),
      );
      return { source, copy: entries.of(to, { size: source.size, etag, contentType: source.type }) };
    } catch (error) {
      if (isStoreError(error, 'not-found') && (await undefinedIfNotFound(stat(from, { signal })))) {
        // Some stores return 404 for a copy source that exists, because of the characters in its name.
        if (attempt === MAX_COPY_ATTEMPTS) throw inconsistentStore(from, error);
        continue;
      }
      if (!isStoreError(error, 'condition-failed')) throw error;
      const present = await findDestination();
      if (present) return { source, present, conflict: alreadyExists(to, error) };
      // The destination does not exist, so the condition on the source failed: it has changed.
      if (attempt === MAX_COPY_ATTEMPTS) throw versionReplaced(from);
    }
  }
}

/** Copies the object of a version to a file. */
export async function restoreVersion(
  { stat, copier, entries, replacer }: FileContext,
  version: Source,
  file: FilePath,
  { condition, keep, signal }: { condition?: WriteCondition } & Keeping & Cancellable,
): Promise<FileEntry> {
  const attributes = await replacer.attributesOf(keep);
  // Some stores ignore conditions, so check them here too.
  if (condition) requireCondition(file, await undefinedIfNotFound(stat(file, { signal })), condition);
  const etag = await replacer.replace(file, { condition, keep }, (present) =>
    copier.copy(version, file, { ...destinationOf(present), attributes, signal }),
  );
  // The response to a copy has no media type.
  const entry = await undefinedIfNotFound(stat(file, { signal }));
  return entry?.etag === etag ? entry : entries.of(file, { size: version.size, etag });
}

/** Returns the options of a copy under a condition on its destination. */
function destinationOf(condition: WriteCondition | undefined): { exclusive: boolean; replacing?: string } {
  return { exclusive: condition === 'absent', ...(typeof condition === 'object' && { replacing: condition.etag }) };
}

/** Returns whether the destination is the copy of an interrupted move: it has the same bytes and media type. */
async function isCopy(
  { copier }: FileContext,
  source: FileEntry,
  copy: FileEntry,
  { signal }: Cancellable,
): Promise<boolean> {
  if (source.size !== copy.size || source.type !== copy.type || source.etag === '') return false;
  return source.etag === copy.etag || copier.isCopyOf(copy.path, source.etag, { signal });
}

/**
 * Creates a folder and its ancestors. A folder exists if the key of any object begins with its path. An empty folder
 * has a marker: an empty object whose key is the path of the folder.
 */
export async function createFolder(context: FileContext, folder: FolderPath, options: Cancellable): Promise<void> {
  await Promise.all(ancestorsOf(folder).map((each) => createMarker(context, each, options)));
}

/** Creates a folder marker. Never replaces an object, because markers of other programs might have content. */
async function createMarker({ bucket, copier }: FileContext, folder: FolderPath, { signal }: Cancellable) {
  if (await copier.find(folder, { signal })) return;
  try {
    await sendConditionally(bucket.capabilities, 'putIfNoneMatch', IF_ABSENT, {
      check: async () => {
        if (await copier.find(folder, { signal })) throw preconditionFailed(folder as string as FilePath);
      },
      send: (condition) => putObject(bucket, folder, Buffer.alloc(0), { condition, signal }),
    });
  } catch (error) {
    // Another client has created the folder meanwhile.
    const isTaken = isStoreError(error) && (error.kind === 'condition-failed' || error.code === 'file-busy');
    if (!isTaken || !(await copier.find(folder, { signal }))) throw error;
  }
}

/** Removes an empty folder: its marker. */
export async function removeFolder(
  { bucket, remover }: FileContext,
  folder: FolderPath,
  { signal }: Cancellable,
): Promise<void> {
  const { objects, undecodable } = await requestPage(bucket, { prefix: folder, limit: 2, signal });
  if (objects.length + undecodable.length === 0) throw notFound(folder);
  if (objects.length + undecodable.length > 1 || !objects.every(isEmptyMarker)) throw notEmpty(folder);
  await remover.removeObject(folder, { signal });
}
