import { quoted, StoreError } from './error.ts';
import { type FilePath, type FolderPath, withoutSlash } from './path.ts';
import type { FileEntry, WriteCondition } from './store.ts';

/* Errors that several stores throw, with the same message for each store. */

/** Returns the error for a missing file or folder. */
export function notFound(path: FilePath | FolderPath, cause?: unknown): StoreError {
  return new StoreError('not-found', `There is no ${kindOf(path)} ${quoted(path)}.`, { cause });
}

/** Returns the conflict that `overwrite` resolves. */
export function alreadyExists(path: FilePath | FolderPath, cause?: unknown): StoreError {
  const message = `There is a ${kindOf(path)} ${quoted(path)} already; send "overwrite": true to replace it.`;
  return new StoreError('already-exists', message, { cause });
}

/** Returns the error for a path that has an entry of the other kind. `overwrite` does not resolve this conflict. */
export function kindConflict(path: FilePath | FolderPath, cause?: unknown): StoreError {
  const found = path.endsWith('/') ? 'something that is no folder' : 'something that is no file';
  const message = `There is ${found} at ${quoted(withoutSlash(path))}, where a ${kindOf(path)} is needed.`;
  return new StoreError('wrong-kind', message, { cause });
}

/** Returns the `unavailable` error for calls while the service stops. */
export function shuttingDown(): StoreError {
  return new StoreError('unavailable', 'The service is shutting down. Try again in a second.', { retryAfter: 1 });
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

/** Throws `condition-failed` if `etag` is set and differs from the file's ETag. */
export function requireEtag(file: FileEntry, etag: string | undefined): void {
  if (etag !== undefined && etag !== file.etag) throw versionReplaced(file.path);
}

/** Throws `condition-failed` unless the file that exists at `path` meets `condition`. */
export function requireCondition(path: FilePath, present: FileEntry | undefined, condition?: WriteCondition): void {
  if (condition === 'absent' && present) throw preconditionFailed(path);
  if (typeof condition === 'object' && present?.etag !== condition.etag) throw versionReplaced(path);
}

/** Throws `invalid-request` unless a body had its announced size, if it has one. */
export function requireSize(file: FilePath, size: number, announced: number | undefined): void {
  if (announced === undefined || announced === size) return;
  throw new StoreError(
    'invalid-request',
    `The file ${quoted(file)} has ${size} bytes, and ${announced} were announced.`,
  );
}

/** Returns the error for every change while READ_ONLY is set. */
export function readOnlyError(): StoreError {
  return new StoreError('denied', 'This service is read-only.');
}

/** Returns the error for a file that has changed since the version in the request. */
export function versionReplaced(file: FilePath): StoreError {
  return new StoreError('condition-failed', `The file ${quoted(file)} is not the version that the request is about.`);
}

/**
 * Returns the error for a store that returned 404 for an existing file or folder. Trusting that 404 would lose files.
 */
export function inconsistentStore(path: string, cause?: unknown): StoreError {
  const message = `The store says that ${quoted(path)} does not exist, and it does. Run "holdall doctor" to test the store.`;
  return new StoreError('unsupported', message, { cause });
}

/** Returns the error for a copied folder in which the store does not list the copy of an item. */
export function copyNotFound(path: string): StoreError {
  const message = `The store does not list the copy of ${quoted(path)}. Nothing was removed. Send the request again; if it fails again, run "holdall doctor" to test the store.`;
  return new StoreError('unavailable', message, { retryAfter: 5 });
}

/** Returns the error for a folder listing that lacks an existing item. */
export function listingIncomplete(path: string): StoreError {
  const message = `The store does not list ${quoted(path)}, which exists. Nothing was removed. Send the request again; if it fails again, run "holdall doctor" to test the store.`;
  return new StoreError('unavailable', message, { retryAfter: 5 });
}

/** Returns the error for a file that other programs change so often that no consistent version can be read. */
export function concurrentlyModified(cause?: unknown): StoreError {
  return new StoreError('unavailable', 'The file is being changed.', { retryAfter: 1, cause });
}

const kindOf = (path: FilePath | FolderPath) => (path.endsWith('/') ? 'folder' : 'file');
