import { quoted, StoreError } from './error.ts';
import { type FilePath, type FolderPath, withoutSlash } from './path.ts';
import type { FileEntry, WriteCondition } from './store.ts';

/*
 * What every store may find, in the same words whichever store finds it.
 */

/** Returns the error for a missing file or folder. */
export function notFound(path: FilePath | FolderPath, cause?: unknown): StoreError {
  return new StoreError('not-found', `There is no ${kindOf(path)} ${quoted(path)}.`, { cause });
}

/** Returns the conflict that `overwrite` resolves. */
export function alreadyExists(path: FilePath | FolderPath, cause?: unknown): StoreError {
  const message = `There is a ${kindOf(path)} ${quoted(path)} already; send "overwrite": true to replace it.`;
  return new StoreError('already-exists', message, { cause });
}

/** The conflict that nothing settles: `path` is wanted, and what is there is of the other kind. */
export function kindConflict(path: FilePath | FolderPath, cause?: unknown): StoreError {
  const found = path.endsWith('/') ? 'something that is no folder' : 'something that is no file';
  const message = `There is ${found} at ${quoted(withoutSlash(path))}, where a ${kindOf(path)} is needed.`;
  return new StoreError('wrong-kind', message, { cause });
}

/** Returns the error for a folder that must be empty but is not. */
export function notEmpty(folder: FolderPath, cause?: unknown): StoreError {
  return new StoreError('already-exists', `The folder ${quoted(folder)} is not empty.`, { cause });
}

/** Returns the error for a failed `absent` condition. */
export function preconditionFailed(file: FilePath, cause?: unknown): StoreError {
  const message = `There is a file ${quoted(file)} already, and the request asked not to replace one.`;
  return new StoreError('condition-failed', message, { cause });
}

/** Throws unless the file has the etag that was asked for, if any was. */
export function requireEtag(file: FileEntry, etag: string | undefined): void {
  if (etag !== undefined && etag !== file.etag) throw versionReplaced(file.path);
}

/** Throws unless `condition` holds for what is at `path` now. */
export function requireCondition(path: FilePath, present: FileEntry | undefined, condition?: WriteCondition): void {
  if (condition === 'absent' && present) throw preconditionFailed(path);
  if (typeof condition === 'object' && present?.etag !== condition.etag) throw versionReplaced(path);
}

/** Throws unless a body had the size that was announced for it, if one was. */
export function requireSize(file: FilePath, size: number, announced: number | undefined): void {
  if (announced === undefined || announced === size) return;
  throw new StoreError(
    'invalid-request',
    `The file ${quoted(file)} has ${size} bytes, and ${announced} were announced.`,
  );
}

/** The service refuses every change, by READ_ONLY. */
export function readOnlyError(): StoreError {
  return new StoreError('denied', 'This service is read-only.');
}

/** Returns the error for a file that has changed since the version in the request. */
export function versionReplaced(file: FilePath): StoreError {
  return new StoreError('condition-failed', `The file ${quoted(file)} is not the version that the request is about.`);
}

/** The store returned 404 for a request about something that is there: to believe it would lose files. */
export function inconsistentStore(path: string, cause?: unknown): StoreError {
  const message = `The store says that ${quoted(path)} does not exist, and it does. Run "holdall doctor" to test the store.`;
  return new StoreError('unsupported', message, { cause });
}

/** A folder was copied, and the store does not list the copy of an item. */
export function copyNotFound(path: string): StoreError {
  const message = `The store does not list the copy of ${quoted(path)}. Nothing was removed. Send the request again; if it fails again, run "holdall doctor" to test the store.`;
  return new StoreError('unavailable', message, { retryAfter: 5 });
}

/** Returns the error for a folder listing that lacks an existing item. */
export function listingIncomplete(path: string): StoreError {
  const message = `The store does not list ${quoted(path)}, which exists. Nothing was removed. Send the request again; if it fails again, run "holdall doctor" to test the store.`;
  return new StoreError('unavailable', message, { retryAfter: 5 });
}

/** For a file that other programs change so often that it can't be read as it is at any moment. */
export function concurrentlyModified(cause?: unknown): StoreError {
  return new StoreError('unavailable', 'The file is being changed.', { retryAfter: 1, cause });
}

const kindOf = (path: FilePath | FolderPath) => (path.endsWith('/') ? 'folder' : 'file');
