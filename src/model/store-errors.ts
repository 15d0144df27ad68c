import { quoted, StoreError } from './error.ts';
import type { KeptId } from './kept-ids.ts';
import { type FilePath, type FolderPath, withoutSlash } from './path.ts';
import type { FileEntry, WriteCondition } from './store.ts';

/* Errors that several stores throw, with the same message for each store. */

/** Returns the error for a missing file or folder. */
export function notFound(path: FilePath | FolderPath, cause?: unknown): StoreError {
  return new StoreError('not-found', `The ${kindOf(path)} ${quoted(path)} does not exist.`, { cause });
}

/** Returns the error for an id that no item in the trash has. */
export function notInTrash(id: KeptId, cause?: unknown): StoreError {
  return new StoreError('not-found', `The trash has no item ${quoted(id)}.`, { cause });
}

/** Returns the error for a destination of the other kind than the item in the trash. */
export function wrongRestoreKind(from: FilePath | FolderPath, to: FilePath | FolderPath): StoreError {
  const message = `The item is a ${kindOf(from)}, so it can't be restored as the ${kindOf(to)} ${quoted(to)}.`;
  return new StoreError('invalid-request', message);
}

/** Returns the error for an id that no version of the file has. */
export function versionNotFound(file: FilePath, id: KeptId, cause?: unknown): StoreError {
  return new StoreError('not-found', `The file ${quoted(file)} has no version ${quoted(id)}.`, { cause });
}

/** Returns the error for a destination that exists, while the caller did not ask to replace it. */
export function alreadyExists(path: FilePath | FolderPath, cause?: unknown): StoreError {
  const message = `The ${kindOf(path)} ${quoted(path)} already exists.`;
  return new StoreError('already-exists', message, { cause });
}

/** Returns the error for a path that has an entry of the other kind, which is never replaced. */
export function kindConflict(path: FilePath | FolderPath, cause?: unknown): StoreError {
  const message = `The path ${quoted(withoutSlash(path))} is not a ${kindOf(path)}. Choose another path.`;
  return new StoreError('wrong-kind', message, { cause });
}

/** Returns the error for calls while the service stops. */
export function shuttingDown(): StoreError {
  return new StoreError('shutting-down', 'The service is shutting down. Try again in a second.', { retryAfter: 1 });
}

/** Returns the error for a folder that must be empty but is not. */
export function notEmpty(folder: FolderPath, cause?: unknown): StoreError {
  return new StoreError('folder-not-empty', `The folder ${quoted(folder)} is not empty.`, { cause });
}

/** Returns the error for a failed `absent` condition. */
export function preconditionFailed(file: FilePath, cause?: unknown): StoreError {
  return new StoreError('name-taken', `The file ${quoted(file)} already exists.`, { cause });
}

/** Throws `file-changed` if `etag` is set and differs from the file's ETag. */
export function requireEtag(file: FileEntry, etag: string | undefined): void {
  if (etag !== undefined && etag !== file.etag) throw versionReplaced(file.path);
}

/** Throws `name-taken` or `file-changed` unless the file that exists at `path` meets `condition`. */
export function requireCondition(path: FilePath, present: FileEntry | undefined, condition?: WriteCondition): void {
  if (condition === 'absent' && present) throw preconditionFailed(path);
  if (typeof condition === 'object' && present?.etag !== condition.etag) throw versionReplaced(path);
}

/** Throws `incomplete-body` unless a body had its announced size, if it has one. */
export function requireSize(file: FilePath, size: number, announced: number | undefined): void {
  if (announced === undefined || announced === size) return;
  const message = `The file ${quoted(file)} has ${size} bytes, but the request announced ${announced}. Send it again.`;
  throw new StoreError('incomplete-body', message);
}

/** Returns the error for every change while READ_ONLY is set. */
export function readOnlyError(): StoreError {
  return new StoreError('read-only', 'The service is read-only (READ_ONLY=true).');
}

/** Returns the error for a file that has changed since the version in the request. */
export function versionReplaced(file: FilePath): StoreError {
  return new StoreError(
    'file-changed',
    `The file ${quoted(file)} has changed since the version in the request. Read it again.`,
  );
}

/**
 * Returns the error for a store that returned 404 for an existing file or folder. Trusting that 404 would lose files.
 */
export function inconsistentStore(path: string, cause?: unknown): StoreError {
  const message = `The store reports that ${quoted(path)} does not exist, although it does. Run "holdall doctor" to test the store.`;
  return new StoreError('store-inconsistent', message, { cause });
}

/** Returns the error for a copied folder in which the store does not list the copy of an item. */
export function copyNotFound(path: string): StoreError {
  const message = `The store does not list the copy of ${quoted(path)}. Nothing was removed. Send the request again; if it fails again, run "holdall doctor" to test the store.`;
  return new StoreError('listing-incomplete', message, { retryAfter: 5 });
}

/** Returns the error for a folder listing that lacks an existing item. */
export function listingIncomplete(path: string): StoreError {
  const message = `The store does not list ${quoted(path)}, which exists. Nothing was removed. Send the request again; if it fails again, run "holdall doctor" to test the store.`;
  return new StoreError('listing-incomplete', message, { retryAfter: 5 });
}

/** Returns the error for a file that other programs change so often that no consistent version can be read. */
export function concurrentlyModified(cause?: unknown): StoreError {
  return new StoreError('file-busy', 'Another program is changing the file. Try again.', { retryAfter: 1, cause });
}

const kindOf = (path: FilePath | FolderPath) => (path.endsWith('/') ? 'folder' : 'file');
