import { readFile } from 'node:fs/promises';
import { sep } from 'node:path';
import { quoted, StoreError, systemErrorCode } from '../../model/error.ts';
import { foldNames } from '../../model/name-comparison.ts';
import { type FilePath, type FolderPath, withoutSlash } from '../../model/path.ts';

/** A field of `/proc/self/mountinfo` has an octal escape for a space, a tab, a newline and a backslash (proc(5)). */
const ESCAPE = /\\([0-7]{3})/g;

/**
 * Returns the absolute paths of the mount points at or below a folder. A bind mount of the same file system has the same
 * device number, so only the list of mounts tells. Returns none on systems without that list. Compares names without case:
 * it is better to refuse a change than to empty another disk.
 */
export async function mountPointsIn(absolute: string): Promise<string[]> {
  const list = await readFile('/proc/self/mountinfo', 'latin1').catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return '';
    throw error;
  });
  const folder = foldNames(`${absolute}/`);
  return list
    .split('\n')
    .map((line) => decode(line.split(' ')[4] ?? ''))
    .filter((point) => foldNames(`${point}/`).startsWith(folder));
}

/** Returns the innermost mount point that contains a path; `root` if it is in none. All are absolute. */
export function volumeOf(absolute: string, mounts: readonly string[], root: string): string {
  const containing = mounts.filter((point) => `${absolute}${sep}`.startsWith(`${point}${sep}`));
  return containing.reduce((innermost, point) => (point.length > innermost.length ? point : innermost), root);
}

/**
 * Throws `contains-mount` if another file system is mounted at or below a folder. `absolute` is its path, and `folder` what
 * the client calls it.
 */
export async function requireNoMounts(absolute: string, folder: FolderPath): Promise<void> {
  const [point] = await mountPointsIn(absolute);
  if (point === undefined) return;
  throw containsMount(withoutSlash(folder) + point.slice(absolute.length), folder);
}

/** Returns the error for a folder with a mount point at or below it. */
export function containsMount(mounted: string, folder: FolderPath): StoreError {
  return new StoreError(
    'contains-mount',
    `Another file system is mounted at ${quoted(mounted)}, so ${quoted(folder)} can't be moved, replaced or deleted. Unmount it first.`,
  );
}

/** Returns the error for a move to another file system. `path`: the source or the destination. */
export function otherFileSystem(path: FilePath | FolderPath, cause?: unknown): StoreError {
  const message = `The move crosses to another file system at ${quoted(path)}. Copy the item, and then delete the original.`;
  return new StoreError('other-file-system', message, { cause });
}

/** Returns the error for an item that can't be moved to the trash. */
export function trashOnOtherFileSystem(path: FilePath | FolderPath, cause?: unknown): StoreError {
  const message = `${quoted(path)} is on another file system than the trash of DISK_ROOT, so it can't be moved there. Delete it permanently, with ?permanent=true.`;
  return new StoreError('other-file-system', message, { cause });
}

/** Returns the error for an item in the trash that can't be moved to the path `to`. */
export function restoredToOtherFileSystem(to: FilePath | FolderPath, cause?: unknown): StoreError {
  const message = `${quoted(to)} is on another file system than the trash of DISK_ROOT, so the item can't be restored there. Restore it to another path, or copy it from .holdall/trash.`;
  return new StoreError('other-file-system', message, { cause });
}

const decode = (field: string) =>
  Buffer.from(
    field.replace(ESCAPE, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    'latin1',
  ).toString();
