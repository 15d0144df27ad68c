import { isUtf8 } from 'node:buffer';
import type { Dirent, Stats } from 'node:fs';
import { lstat, mkdir, open, opendir, realpath, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { concurrently } from '../../concurrency/concurrently.ts';
import { walkByLists } from '../../files/fallbacks.ts';
import { ProgressCounter } from '../../files/progress.ts';
import { isStoreError, quoted, StoreError, systemErrorCode } from '../../model/error.ts';
import { type FilePath, type FolderPath, isFolder, isName, ROOT, rebase } from '../../model/path.ts';
import type { Bounded, Cancellable, Entry, FileEntry, Reporting, Store } from '../../model/store.ts';
import { toStoreError } from './errors.ts';
import { readAttributes } from './extended-attributes.ts';
import { openDirHandle } from './folder.ts';
import { copyOpenFile } from './metadata.ts';
import { containsMount, requireNoMounts } from './mount-points.ts';
import { copyPermissions, type Permissions } from './permissions.ts';
import { isStagingName } from './reserved-names.ts';
import { FILE_FLAGS, type OpenFile, type Root } from './root.ts';

/** Maximum files of a folder that are copied at a time: the default size of libuv's thread pool. */
const COPY_CONCURRENCY = 4;

/**
 * Copies everything below `from` into the folder at the absolute path `copy` and makes it durable. `group` replaces the
 * groups of all items. Call `requireTransferable` before: this fails in the middle.
 */
export async function copyTree(
  { root, list }: { root: Root; list: Store['list'] },
  { from, to, copy, group }: { from: FolderPath; to: FolderPath; copy: string; group: bigint | undefined },
  { signal, ...reporting }: Reporting & Cancellable,
): Promise<void> {
  const progress = new ProgressCounter(reporting);
  const copyOne = async (file: FileEntry) => {
    try {
      await using source = await openIfPresent(root, file.path);
      // Another request has deleted or moved the file since its folder was listed.
      if (!source) return;
      await copyOpenFile(source, join(copy, file.path.slice(from.length)), group);
    } catch (error) {
      throw toStoreError(error, file.path);
    }
    progress.add(file.size);
  };
  const copyEntry = async (entry: Entry) => {
    rebase(entry.path, from, to, root.maxPathBytes);
    if (entry.kind === 'file') await copyOne(entry);
  };
  const folders: (Permissions & { readonly path: string })[] = [];
  const noteFolder = async (path: string, folder: FolderPath) => {
    await using source = await root.openFolder(folder);
    folders.push({ path, stats: await source.stats(), attributes: await readAttributes(source.at('.')) });
  };
  // The walk returns each folder before its files, so that folders are created before files are copied into them.
  const entries = async function* () {
    for await (const entry of walkByLists(list, from, { signal })) {
      if (entry.kind === 'folder') {
        const path = join(copy, entry.path.slice(from.length));
        await mkdir(path);
        await noteFolder(path, entry.path);
      }
      yield entry;
    }
  };
  await noteFolder(copy, from);
  await concurrently(entries(), COPY_CONCURRENCY, copyEntry, signal);
  // Last, and those of a folder after all in it: a folder can forbid changes.
  for (const { path, ...permissions } of folders.toReversed()) await copyPermissions(path, permissions, group);
  await syncFolders(copy);
}

/** Opens a file; returns undefined if it does not exist. */
async function openIfPresent(root: Root, file: FilePath): Promise<OpenFile | undefined> {
  try {
    return await root.openFile(file);
  } catch (error) {
    const known = toStoreError(error, file);
    if (isStoreError(known, 'not-found')) return undefined;
    throw error;
  }
}

async function syncFolders(folder: string): Promise<void> {
  for await (const child of await opendir(folder)) {
    if (child.isDirectory()) await syncFolders(join(folder, child.name));
  }
  await using handle = await open(folder, 'r');
  await handle.sync();
}

/** Error codes for a folder that was removed or replaced by something else, perhaps by a link. */
const FOLDER_MISSING = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);
const FOLDER_REPLACED = new Set(['ENOTDIR', 'ELOOP']);

/** A folder that is copied or moved. */
export interface Transfer {
  /** The absolute path of the folder on the disk, which can be in the trash. */
  readonly absolute: string;
  readonly from: FolderPath;
  readonly to: FolderPath;
  readonly isCopy: boolean;
  readonly maxPathBytes: number;
}

/**
 * Throws an error about the first item that a copy or move can't take, so that it fails before it changes anything:
 * `path-too-long` for a path over the limit, which no request could address. A move by rename takes everything else. A
 * copy reads: `invalid-path` for names that no path can have, and `denied` for what the process can't read.
 */
export async function requireTransferable(
  { absolute, from, to, isCopy, maxPathBytes }: Transfer,
  { signal }: Cancellable,
): Promise<void> {
  if (!isCopy && Buffer.byteLength(to) <= Buffer.byteLength(from)) return;
  const filesIn = async function* (folder: Buffer, path: FolderPath): AsyncGenerator<ReadableFile> {
    signal?.throwIfAborted();
    await using handle = await openDirHandle(folder).catch((error: unknown) => {
      if (FOLDER_MISSING.has(systemErrorCode(error) ?? '')) return undefined;
      throw toStoreError(error, path);
    });
    const children =
      (await handle?.children().catch((error: unknown) => Promise.reject(toStoreError(error, path)))) ?? [];
    for (const child of children.toSorted((left, right) => Buffer.compare(left.name, right.name))) {
      const name = child.name.toString();
      if (!handle || !(child.isDirectory() || child.isFile()) || isStagingName(name)) continue;
      const isNameable = isUtf8(child.name) && isName(name);
      if (isCopy && !isNameable) throw unnameable(path + name);
      const childPath = (path + name + (child.isDirectory() ? '/' : '')) as FilePath | FolderPath;
      rebase(childPath, from, to, maxPathBytes);
      if (isFolder(childPath)) yield* filesIn(handle.at(child.name), childPath);
      else if (isCopy) yield { path: childPath, at: handle.at(child.name) };
    }
  };
  for await (const file of filesIn(Buffer.from(absolute), from)) await requireReadable(file);
}

interface ReadableFile {
  readonly path: FilePath;
  /** Valid until the next file is requested. */
  readonly at: Buffer;
}

/** Opening is the only reliable test: permissions can depend on ACLs, on the file system and on other machines. */
async function requireReadable({ path, at }: ReadableFile): Promise<void> {
  try {
    await (await open(at, FILE_FLAGS)).close();
  } catch (error) {
    const known = toStoreError(error, path);
    if (!isStoreError(known, 'not-found')) throw known;
  }
}

function unnameable(path: string): StoreError {
  const message = `The path ${quoted(path)} can't be copied: it contains a control character or is not UTF-8. Rename it on the disk.`;
  return new StoreError('invalid-path', message);
}

/**
 * Returns the total size of the files in a folder in bytes, or of a single file. Follows no symbolic link. A folder that the
 * process can't read counts as empty.
 */
export async function measureTree(absolute: string, { signal }: Cancellable): Promise<number> {
  const measure = async (path: Buffer): Promise<number> => {
    signal?.throwIfAborted();
    await using handle = await openDirHandle(path);
    let bytes = 0;
    for (const child of await handle.children()) {
      const name = handle.at(child.name);
      if (child.isDirectory()) bytes += await measure(name).catch(zeroIfClosed);
      else if (child.isFile()) bytes += (await lstat(name)).size;
    }
    return bytes;
  };
  const stats = await lstat(absolute);
  return stats.isDirectory() ? measure(Buffer.from(absolute)) : stats.size;
}

function zeroIfClosed(error: unknown): 0 {
  if (FOLDER_MISSING.has(systemErrorCode(error) ?? '') || isStoreError(toStoreError(error, ROOT), 'denied')) return 0;
  throw error;
}

/**
 * Throws `job-outdated` about the first item in a folder that arrived after `before`, or was replaced. Other programs can also
 * change a file in place: `removeTree` finds that. `absolute` is the path of the folder.
 */
export async function requireNoArrivals(
  absolute: string,
  { path, before, signal }: { readonly path: FolderPath; readonly before: Date } & Cancellable,
): Promise<void> {
  const examine = async (folder: Buffer, folderPath: FolderPath): Promise<void> => {
    signal?.throwIfAborted();
    await using handle = await openDirHandle(folder);
    const canHaveNewFiles = (await handle.stats()).mtimeMs > before.getTime();
    for (const child of await handle.children()) {
      if (!canHaveNewFiles && !child.isDirectory()) continue;
      const [at, name] = [handle.at(child.name), folderPath + child.name.toString()];
      const stats = await lstat(at).catch(undefinedIfClosed);
      if (stats) requireOlder(stats, name, before);
      if (child.isDirectory()) await examine(at, `${name}/` as FolderPath).catch(undefinedIfClosed);
    }
  };
  await examine(Buffer.from(absolute), path);
}

/** What the process can't read can't be removed either. */
function undefinedIfClosed(error: unknown): undefined {
  zeroIfClosed(error);
}

/**
 * Throws `job-outdated` if an item arrived or changed after `before`. A folder changes with each file that is removed from it,
 * so only its birth counts, or the change of its name or place, which does not set its modification time.
 */
function requireOlder(stats: Stats, path: string, before: Date): void {
  const time = before.getTime();
  const isNewer = stats.isDirectory()
    ? stats.birthtimeMs > time || (stats.ctimeMs > time && stats.mtimeMs <= time)
    : stats.ctimeMs > time;
  if (!isNewer) return;
  const shown = quoted(stats.isDirectory() ? `${path}/` : path);
  const message = `${shown} arrived or changed after the request to delete its folder. Check it, and start the job again if necessary.`;
  throw new StoreError('job-outdated', message);
}

/** Maximum attempts to empty a folder while other programs add files. */
const MAX_REMOVE_ATTEMPTS = 10;

/**
 * Removes a folder and everything in it, file by file, so that it can report progress. Removes names relative to the
 * opened folder. If another program creates a symbolic link there, only the link is removed, never its target. Removes
 * nothing if another file system is mounted in the folder, and never continues on another device.
 *
 * Continues after a failure, and then throws a `StoreError` about the first item that remains, also about one that arrived or
 * changed after `before`. `path` is what errors call the folder.
 */
export async function removeTree(
  folder: string,
  { path: top = ROOT, before, onProgress }: { readonly path?: FolderPath } & Bounded & Reporting = {},
): Promise<void> {
  const progress = onProgress && new ProgressCounter({ onProgress });
  await requireNoMounts(await realpath(folder), top);
  const { dev } = await lstat(folder);
  let failures = 0;
  let firstFailure: unknown;

  const removeFile = async (at: Buffer, path: string) => {
    const stats = progress || before ? await lstat(at) : undefined;
    if (stats && before) requireOlder(stats, path, before);
    await unlink(at);
    if (stats) progress?.add(stats.size);
  };

  const removeChild = async (child: Dirent<Buffer>, at: Buffer, path: string) => {
    try {
      if (!child.isDirectory()) return await removeFile(at, path);
      if (before) requireOlder(await lstat(at), path, before);
      await remove(at, `${path}/` as FolderPath).catch(async (error: unknown) => {
        if (!FOLDER_REPLACED.has(systemErrorCode(error) ?? '')) throw error;
        await removeFile(at, path);
      });
    } catch (error) {
      // Another program removed it.
      if (systemErrorCode(error) === 'ENOENT') return;
      failures++;
      const remaining = (child.isDirectory() ? `${path}/` : path) as FilePath | FolderPath;
      firstFailure ??= toStoreError(inUse(error, remaining), remaining);
    }
  };

  const empty = async (at: Buffer, path: FolderPath): Promise<void> => {
    await using handle = await openDirHandle(at);
    if ((await handle.stats()).dev !== dev) throw containsMount(path, path);
    for (const child of await handle.children()) {
      await removeChild(child, handle.at(child.name), path + child.name.toString());
    }
  };

  const remove = async (at: Buffer, path: FolderPath): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      const failuresBefore = failures;
      await empty(at, path);
      if (failures > failuresBefore) return;
      try {
        return await rmdir(at);
      } catch (error) {
        // An upload that opened the folder before the removal can still add its file.
        if (systemErrorCode(error) !== 'ENOTEMPTY' || attempt === MAX_REMOVE_ATTEMPTS) throw inUse(error, path);
      }
    }
  };

  await remove(Buffer.from(folder), top);
  if (isStoreError(firstFailure)) throw removedInPart(top, firstFailure);
  if (failures > 0) throw firstFailure;
}

/** Error codes for an item that other programs use. */
const IN_USE = new Set(['EBUSY', 'ENOTEMPTY', 'EEXIST']);

/** Returns the error for an item that can't be removed because other programs use it. Returns other errors unchanged. */
function inUse(error: unknown, path: FilePath | FolderPath): unknown {
  if (!IN_USE.has(systemErrorCode(error) ?? '')) return error;
  const message = `Another program uses ${quoted(path)}. Try again.`;
  return new StoreError('file-busy', message, { cause: error, retryAfter: 5 });
}

function removedInPart(folder: FolderPath, { code, message, retryAfter, cause }: StoreError): StoreError {
  const remainder = folder === ROOT ? '' : ` The rest of ${quoted(folder)} was deleted.`;
  return new StoreError(code, message + remainder, { cause, ...(retryAfter !== undefined && { retryAfter }) });
}
