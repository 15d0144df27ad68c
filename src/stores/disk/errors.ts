import { isDiskFull, quoted, StoreError, systemErrorCode } from '../../model/error.ts';
import { type FilePath, type FolderPath, ROOT } from '../../model/path.ts';
import { kindConflict, notFound } from '../../model/store-errors.ts';
import { otherFileSystem } from './mount-points.ts';

/**
 * Converts a file system error to a `StoreError` about `path`. Returns other errors unchanged: bugs.
 */
export function toStoreError(error: unknown, path: FilePath | FolderPath): unknown {
  if (isDiskFull(error)) return new StoreError('store-full', 'The disk is full.', { cause: error, retryAfter: 60 });
  switch (systemErrorCode(error)) {
    case 'ENOENT':
    // A segment in the middle is a file (ENOTDIR), or something is a symbolic link (ELOOP, by O_NOFOLLOW).
    case 'ENOTDIR':
    case 'ELOOP':
    // A socket, or a device without a driver.
    case 'ENXIO':
    case 'ENODEV':
      return notFound(path, error);
    case 'EISDIR':
      return kindConflict(path, error);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return denied(path, error);
    // The disk is damaged, or its network file system failed.
    case 'EIO':
    case 'EUCLEAN':
    case 'EBADMSG':
      return diskError(path, error);
    case 'ENAMETOOLONG':
      return hasLongSegment(path) ? segmentTooLong(path, error) : tooLongForDisk(path, error);
    // Names that the file system does not support, such as a colon on FAT.
    case 'EINVAL':
    case 'EILSEQ':
      return new StoreError('unsupported-name', "The file system can't hold a file of this name.", { cause: error });
    case 'EFBIG':
      return new StoreError('too-large-for-store', 'The file is larger than the file system allows.', { cause: error });
    // Out of file descriptors, or a temporary failure of a network file system.
    case 'EMFILE':
    case 'ENFILE':
    case 'EAGAIN':
    case 'EBUSY':
    case 'ESTALE':
    case 'ETIMEDOUT':
      return new StoreError('store-busy', 'The disk is busy, or the limit of open files is reached. Try again.', {
        cause: error,
        retryAfter: 2,
      });
    case 'EXDEV':
      return otherFileSystem(path, error);
    default:
      return error;
  }
}

function denied(path: FilePath | FolderPath, cause: unknown): StoreError {
  const message = `The operating system denied access to ${named(path)}. Check its owner and permissions.`;
  return new StoreError('denied', message, { cause });
}

function diskError(path: FilePath | FolderPath, cause: unknown): StoreError {
  const message = `The disk reported an error for ${named(path)}. Check the disk.`;
  return new StoreError('disk-error', message, { cause });
}

const named = (path: FilePath | FolderPath): string => (path === ROOT ? 'the folder' : quoted(path));

/** Returns whether a segment is longer than file systems allow. */
export function hasLongSegment(path: FilePath | FolderPath): boolean {
  // A UTF-16 code unit takes at most three bytes of UTF-8, so most paths need not be split.
  if (path.length * 3 <= MAX_SEGMENT_BYTES) return false;
  return path.split('/').some((name) => Buffer.byteLength(name) > MAX_SEGMENT_BYTES);
}

/**
 * Returns the error for a path that is too long with the names of Holdall's own folder, as of a version, or for a name
 * that is too long for an unusual file system.
 */
function tooLongForDisk(path: FilePath | FolderPath, cause: unknown): StoreError {
  const message = `The path ${quoted(path)} or one of its names is too long for this disk.`;
  return new StoreError('path-too-long', message, { cause });
}

/** Returns an `invalid-path` error: a segment is longer than file systems allow. */
export function segmentTooLong(path: FilePath | FolderPath, cause?: unknown): StoreError {
  const message = `The path ${quoted(path)} has a segment of more than ${MAX_SEGMENT_BYTES} bytes, the limit of file systems.`;
  return new StoreError('path-too-long', message, { cause });
}

/** NAME_MAX of Linux, the limit of nearly all its file systems. */
export const MAX_SEGMENT_BYTES = 255;
