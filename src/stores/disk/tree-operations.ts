import { isUtf8 } from 'node:buffer';
import { lstat, mkdir, open, opendir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { concurrently } from '../../concurrency/concurrently.ts';
import { walkByLists } from '../../files/walk.ts';
import { quoted, StoreError, systemErrorCode, undefinedIfNotFound } from '../../model/error.ts';
import type { NameComparison } from '../../model/name-comparison.ts';
import { type FolderPath, MAX_PATH_BYTES, nameOf, ROOT, rebase } from '../../model/path.ts';
import type { Cancellable, Entry, FileEntry, Replacing, Reporting, Store } from '../../model/store.ts';
import { alreadyExists, notEmpty, notFound } from '../../model/store-errors.ts';
import { inParent, isNameTaken, lookUpFolder, restoreFile, restoreFolder } from './atomic-rename.ts';
import { toStoreError } from './errors.ts';
import type { Folder } from './folder.ts';
import { removeTree } from './remove-tree.ts';
import type { Root } from './root.ts';
import type { Temporary } from './temporary.ts';
import { copyOpenFile } from './write.ts';

type TreeOperations = Required<Pick<Store, 'copyFolder' | 'moveFolder' | 'removeTree'>>;

/** Maximum files of a folder that are copied at a time: the default size of libuv's thread pool. */
const CONCURRENCY = 4;

/**
 * Creates the operations on whole folders. Each takes effect by one rename, so that no reader sees a partial result. A
 * move renames the folder itself. A copy is completed under a temporary name and then renamed. A removal renames the
 * folder to a temporary name and then deletes it.
 */
export function createTreeOperations(
  root: Root,
  temporary: Temporary,
  { list, warn }: { list: Store['list']; warn: (message: string, details: object) => void },
): TreeOperations {
  /** Renames a folder to a temporary name and returns its new path. Throws `not-found` if it is not a folder. */
  const takeAway = async (parent: Folder, folder: FolderPath): Promise<string> => {
    const name = parent.at(nameOf(folder));
    await requireFolderAt(name, folder);
    const taken = await temporary.name();
    try {
      await rename(name, taken);
    } catch (error) {
      throw toStoreError(error, folder);
    }
    await requireMoved(taken, name, folder);
    return taken;
  };

  /** Throws, before anything is copied, if the destination exists and must not be replaced, or is not a folder. */
  const requirePlace = async (to: FolderPath, { replace }: Replacing): Promise<void> => {
    const present = await undefinedIfNotFound(inParent(root, to, (parent) => lookUpFolder(parent, to)));
    if (present && !replace) throw alreadyExists(to);
  };

  /**
   * Renames the folder at `source` to `to`. Moves an existing folder of that name to a temporary name first, as well as
   * any folder that appears there meanwhile. Restores these if the rename fails, and deletes them otherwise.
   */
  const place = async (source: string, to: FolderPath, { replace }: Replacing): Promise<void> => {
    await using parent = await root.makeParent(to);
    const name = parent.at(nameOf(to));
    const aside: string[] = [];
    try {
      for (let attempt = 1; ; attempt++) {
        const present = await lookUpFolder(parent, to);
        if (present && !replace) throw alreadyExists(to);
        const taken = present && (await undefinedIfNotFound(takeAway(parent, to)));
        if (taken !== undefined) aside.unshift(taken);
        try {
          await giveName(source, name);
          break;
        } catch (error) {
          if (!replace || !isNameTaken(error) || attempt === PLACE_ATTEMPTS) throw error;
        }
      }
    } catch (error) {
      for (const taken of aside) await putBack(taken, name);
      throw isNameTaken(error) ? alreadyExists(to, error) : toStoreError(error, to);
    }
    await parent.sync();
    for (const taken of aside) await removeAside(taken);
  };

  /** Renames a folder to another spelling of its name, which the file system treats as equal. */
  const respell = async (name: string, to: FolderPath): Promise<void> => {
    await using parent = await root.openParent(to);
    try {
      await rename(name, parent.at(nameOf(to)));
    } catch (error) {
      throw isNameTaken(error) ? alreadyExists(to, error) : toStoreError(error, to);
    }
    await parent.sync();
  };

  /**
   * Restores a folder after a failed replacement. Files that another program created at its path meanwhile remain. What
   * can't be restored remains under its temporary name and is logged.
   */
  const putBack = async (taken: string, name: string): Promise<void> => {
    try {
      await restoreFolder(Buffer.from(taken), Buffer.from(name));
    } catch (error) {
      warn('A folder that was to be replaced could not be put back.', { path: taken, err: error });
    }
  };

  /**
   * Deletes a folder under its temporary name. Only logs a failure, because the folder is already gone from its
   * original path.
   */
  const removeAside = async (taken: string, options: Reporting = {}): Promise<void> => {
    try {
      await removeTree(taken, options);
    } catch (error) {
      warn('What was removed from its place could not be deleted.', { path: taken, err: error });
    }
  };

  return {
    async removeTree(folder, options = {}) {
      options.signal?.throwIfAborted();
      const taken = await inParent(root, folder, async (parent) => {
        const aside = await takeAway(parent, folder);
        await parent.sync();
        return aside;
      });
      await removeAside(taken, options);
    },

    async moveFolder(from, to, { replace, signal }) {
      if (Buffer.byteLength(to) > Buffer.byteLength(from)) await requireRoom(root, from, to);
      requireApart(root.names, from, to);
      signal?.throwIfAborted();
      await using parent = await root.openParent(from);
      const name = parent.at(nameOf(from));
      await requireFolderAt(name, from);
      if (root.names.possible(from) === root.names.possible(to)) await respell(name, to);
      else await place(name, to, { replace });
      await parent.sync();
    },

    async copyFolder(from, to, { replace, ...options }) {
      const copy = await temporary.name();
      try {
        requireApart(root.names, from, to);
        if (root.names.possible(from) === root.names.possible(to)) throw sameFolder(from, to);
        await list(from, { limit: 1 });
        await requirePlace(to, { replace });
        await mkdir(copy);
        await copyTree(root, list, { from, to, copy }, options);
        options.signal?.throwIfAborted();
        await place(copy, to, { replace });
      } catch (error) {
        throw toStoreError(error, to);
      } finally {
        await rm(copy, { recursive: true, force: true });
      }
    },
  };
}

/** Maximum attempts to replace a folder that other programs recreate meanwhile. */
const PLACE_ATTEMPTS = 20;

/**
 * Renames a folder to a name that is free or belongs to an empty folder. An empty source needs a free name: of several,
 * only the first succeeds.
 */
async function giveName(source: string, name: string): Promise<void> {
  let isReserved = false;
  try {
    // rename(2) replaces an empty destination. Several empty folders could therefore take the same name: mkdir(2)
    // reserves it.
    if (await isEmpty(source)) {
      await mkdir(name);
      isReserved = true;
    }
    await rename(source, name);
  } catch (error) {
    if (isReserved) await rmdir(name).catch(() => {});
    throw error;
  }
}

async function isEmpty(folder: string): Promise<boolean> {
  await using entries = await opendir(folder);
  return (await entries.read()) === null;
}

async function requireFolderAt(name: string, folder: FolderPath): Promise<void> {
  const found = await lstat(name).catch(() => undefined);
  if (!found?.isDirectory()) throw notFound(folder);
}

/**
 * Throws `not-found` if `taken` is not a folder, and renames it back. Another program may have replaced the folder by a
 * link before the rename.
 */
async function requireMoved(taken: string, name: string, folder: FolderPath): Promise<void> {
  if ((await lstat(taken)).isDirectory()) return;
  await restoreFile(taken, name);
  throw notFound(folder);
}

/**
 * Copies everything below `from` into the folder at `copy` and makes it durable. Throws `invalid-path` if a path would
 * be too long below `to`.
 */
async function copyTree(
  root: Root,
  list: Store['list'],
  { from, to, copy }: { from: FolderPath; to: FolderPath; copy: string },
  { signal, onProgress }: Reporting & Cancellable,
): Promise<void> {
  let [done, bytes] = [0, 0];
  const copyOne = async (file: FileEntry) => {
    await using source = await root.openFile(file.path);
    const target = join(copy, file.path.slice(from.length));
    await copyOpenFile(source, join(root.path, file.path), target);
    done++;
    bytes += file.size;
    onProgress?.({ done, total: null, bytes });
  };
  const copyEntry = async (entry: Entry) => {
    rebase(entry.path, from, to);
    if (entry.kind === 'file') await copyOne(entry);
  };
  // The walk returns each folder before its files, so that folders are created before files are copied into them.
  const entries = async function* () {
    for await (const entry of walkByLists(list, from, { signal })) {
      if (entry.kind === 'folder') await mkdir(join(copy, entry.path.slice(from.length)));
      yield entry;
    }
  };
  await concurrently(entries(), CONCURRENCY, copyEntry, signal);
  await syncFolders(copy);
}

/**
 * Throws `invalid-request` if one folder may be inside the other under another spelling, on a file system that folds
 * names.
 */
function requireApart(names: NameComparison, from: FolderPath, to: FolderPath): void {
  const [source, destination] = [names.possible(from), names.possible(to)];
  if (source === destination || !(source.startsWith(destination) || destination.startsWith(source))) return;
  throw new StoreError(
    'invalid-request',
    `The folders ${quoted(from)} and ${quoted(to)} may be inside each other: this file system ignores differences in spelling.`,
  );
}

function sameFolder(from: FolderPath, to: FolderPath): StoreError {
  return new StoreError(
    'invalid-request',
    `The source ${quoted(from)} and the destination ${quoted(to)} may be the same folder: this file system ignores differences in spelling.`,
  );
}

async function syncFolders(folder: string): Promise<void> {
  for await (const child of await opendir(folder)) {
    if (child.isDirectory()) await syncFolders(join(folder, child.name));
  }
  await using handle = await open(folder, 'r');
  await handle.sync();
}

const TOO_LONG = `In the new place a path would be over the limit of ${MAX_PATH_BYTES} bytes.`;

/** Error codes of a folder that was removed or replaced. */
const GONE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

/** Throws `invalid-path` if the move would give an item a path over the limit. No request could address that path. */
async function requireRoom(root: Root, from: FolderPath, to: FolderPath): Promise<void> {
  const growth = Buffer.byteLength(to) - Buffer.byteLength(from);
  const search = async (folder: string, bytes: number): Promise<void> => {
    const children = await readdir(folder, { withFileTypes: true, encoding: 'buffer' }).catch((error: unknown) => {
      // A folder that was removed or replaced meanwhile contains no paths.
      if (GONE.has(systemErrorCode(error) ?? '')) return [];
      throw toStoreError(error, from);
    });
    for (const child of children) {
      // A name that is not UTF-8 is not addressable before the move either.
      if (!isUtf8(child.name)) continue;
      const length = bytes + child.name.length + (child.isDirectory() ? 1 : 0);
      if (length <= MAX_PATH_BYTES && length + growth > MAX_PATH_BYTES) {
        throw new StoreError('invalid-path', TOO_LONG);
      }
      if (child.isDirectory()) await search(join(folder, child.name.toString()), length);
    }
  };
  await using folder = await root.openFolder(from);
  await search(folder.path, Buffer.byteLength(from));
}

/** Creates the operations on single folders. */
export function createSingleFolderOperations(root: Root): Pick<Store, 'createFolder' | 'removeFolder'> {
  return {
    async createFolder(path) {
      await using _made = await root.makeFolder(path);
    },

    async removeFolder(path) {
      if (path === ROOT) throw notEmpty(path);
      await inParent(root, path, async (parent) => {
        try {
          await rmdir(parent.at(nameOf(path)));
          await parent.sync();
        } catch (error) {
          throw systemErrorCode(error) === 'ENOTEMPTY' ? notEmpty(path, error) : error;
        }
      });
    },
  };
}
