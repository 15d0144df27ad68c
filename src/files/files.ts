import { Readable } from 'node:stream';
import { quoted, StoreError } from '../model/error.ts';
import { identifyItem } from '../model/item-identity.ts';
import type { KeptId } from '../model/kept-ids.ts';
import {
  childFile,
  childFolder,
  type FilePath,
  type FolderPath,
  folderNamed,
  isWithin,
  nameOf,
  parentOf,
  ROOT,
  requireLength,
} from '../model/path.ts';
import {
  type Cancellable,
  type Content,
  type FileEntry,
  type Listing,
  type ListOptions,
  MAX_PAGE,
  type Moving,
  type Quota,
  type Replacing,
  type Space,
  type Store,
} from '../model/store.ts';
import { type ContentOptions, type Download, type DownloadOptions, Downloads, type ReadOptions } from './download.ts';
import { type FolderFilter, removeEmptyChildren, removeEmptyTree } from './empty-trees.ts';
import { copyFile, folderExists, maxPathBytesOf, moveFile } from './fallbacks.ts';
import { type Attempting, createFolderOperations } from './folder-operations.ts';
import type { FolderOptions } from './folder-transfer.ts';
import { requireFewNewFolders } from './new-folders.ts';
import {
  type ByUser,
  type DeleteFileOptions,
  type DeleteFolderOptions,
  Retention,
  type RetentionOptions,
} from './retention.ts';
import { createTrashOperations, type TrashOperations } from './trash.ts';
import { type IncomingFile, upload } from './upload.ts';
import { createVersionOperations, type VersionOperations } from './versions.ts';

export interface FilesOptions extends ContentOptions {
  /** Maximum size of an upload in bytes; undefined for no limit. */
  readonly maxUploadSize?: number | undefined;
  /** What is kept of content that users delete or replace. Default: nothing. */
  readonly retention?: RetentionOptions | undefined;
}

interface MoveOptions {
  /** Replaces a folder at the destination that contains only folders that this function accepts, at any depth. */
  readonly replaceEmpty?: FolderFilter | undefined;
  /**
   * The identity of the item to move, as `identifyItem` returns it. Completes a move whose process was killed before it recorded
   * the change: without an item at the source, and with this one at the destination, the move succeeds.
   */
  readonly movedIdentity?: string | undefined;
}

type FileChangeOptions = Replacing & ByUser & Cancellable;
type MoveFileOptions = FileChangeOptions & Pick<Moving, 'onNewEtag'>;
type FolderChangeOptions = FolderOptions & ByUser;

/**
 * The operations on files and folders, with all rules, on any store. Every expected error is a `StoreError` of the
 * kinds that the members of `Store` document.
 */
export interface Files extends TrashOperations, VersionOperations {
  /** Returns one page of a folder: at most `limit` entries, from 1 to `MAX_PAGE`. */
  list(folder: FolderPath, options?: ListOptions): Promise<Listing>;
  stat(file: FilePath, options?: Cancellable): Promise<FileEntry>;
  /** Returns whether a folder exists. The root always does. */
  folderExists(folder: FolderPath, options?: Cancellable): Promise<boolean>;
  /** Returns the space of the volume that holds the files; undefined if the store has none or does not know it. */
  space(options?: Cancellable): Promise<Space | undefined>;
  /** Opens a file of any size. */
  read(file: FilePath, options?: ReadOptions): Promise<Content>;
  /**
   * Returns the content of a file that is smaller than 6 MB, and a presigned URL for a larger one. Throws `too-large`
   * if the store has no presigned URLs. With `contentUrl`, always returns a URL.
   */
  download(file: FilePath, options: DownloadOptions): Promise<Download>;
  /**
   * Returns the URL that `download` returns for the file; undefined if `download` returns the content. With the purpose
   * `stat`, the URL allows only a HEAD.
   */
  downloadUrl(
    file: FileEntry,
    options: { asAttachment: boolean; purpose: 'read' | 'stat' } & Cancellable,
  ): Promise<string | undefined>;
  /** Returns the cached content (`Store.readCached`) if `download` would return the content; otherwise undefined. */
  readCached(file: FilePath): ReturnType<NonNullable<Store['readCached']>>;
  /** Returns the content of a version, or a URL, like `download`. */
  downloadVersion(file: FilePath, id: KeptId, options: DownloadOptions): Promise<Download>;
  /** Returns the URL that `downloadVersion` returns for a version; undefined if that returns the content. */
  versionUrl(file: FileEntry, id: KeptId, options: { asAttachment: boolean }): Promise<string | undefined>;
  /** Throws `locked` if a lock forbids an upload to a path at this moment. */
  requireUnlocked(file: FilePath): Promise<void>;
  /** Writes an uploaded file, or nothing if any part of the upload fails. Consumes `incoming.body`. */
  upload(incoming: IncomingFile, options?: ByUser & Cancellable): Promise<FileEntry>;
  /** Moves a file to the trash, or deletes it permanently: with `permanent`, and if there is no trash. */
  deleteFile(file: FilePath, options?: DeleteFileOptions): Promise<void>;
  /** Renames a file within its folder. Returns the new path. */
  renameFile(file: FilePath, name: string, options: MoveFileOptions): Promise<FilePath>;
  /** Returns the copy. */
  copyFile(from: FilePath, to: FilePath, options: FileChangeOptions): Promise<FileEntry>;
  moveFile(from: FilePath, to: FilePath, options: MoveFileOptions & MoveOptions): Promise<void>;
  /** Sets the modification time of a file. Only for stores that can (`Store.setModified`). */
  setModified(file: FilePath, modified: Date, options?: Cancellable): Promise<FileEntry>;
  /** `onUnchanged`: called if the folder already exists. It then also remains when it becomes empty. */
  createFolder(folder: FolderPath, options?: Pick<ByUser, 'onUnchanged'> & Cancellable): Promise<void>;
  /** Deletes a folder and everything in it, like `deleteFile`. */
  deleteFolder(folder: FolderPath, options?: DeleteFolderOptions): Promise<void>;
  copyFolder(from: FolderPath, to: FolderPath, options: FolderChangeOptions & Attempting): Promise<void>;
  moveFolder(from: FolderPath, to: FolderPath, options: FolderChangeOptions & MoveOptions): Promise<void>;
  /** Renames a folder within its parent. Returns the new path. */
  renameFolder(folder: FolderPath, name: string, options: FolderChangeOptions): Promise<FolderPath>;
  /** Checks that the store is usable. Throws the reason if it is not. */
  check(options?: Cancellable): Promise<void>;
  /**
   * Returns the remaining requests that the backend allows; undefined if the backend has no limit or has not reported
   * one.
   */
  quota(): Quota | undefined;
  /** Returns whether writing this file requires the manage permission for the root (`Store.isPrivileged`). */
  isPrivileged(file: FilePath): boolean;
  /** Returns whether the size of a file in a listing is that of its content (`Store.isSizeCertain`). */
  isSizeCertain(file: FileEntry): boolean;
  /** Returns the maximum length of a path in UTF-8 bytes (`Store.maxPathBytes`). */
  maxPathBytes(): number;
}

export function createFiles(store: Store, options: FilesOptions): Files {
  const folders = createFolderOperations(store);
  const retention = new Retention(store, options.retention ?? { trash: false, versions: false });
  const versions = createVersionOperations(store, retention);
  const downloads = new Downloads(store, versions, options);
  const keeping = ({ user, onKept, ...change }: MoveFileOptions) => ({
    ...change,
    keep: retention.keepFile({ user, onKept, replace: change.replace }),
  });
  const moveFolder: Files['moveFolder'] = async (from, to, { user, onKept, replaceEmpty, movedIdentity, ...move }) => {
    await requireParents(to);
    if (await isMovedBefore(store, { from, to, movedIdentity })) return;
    if (replaceEmpty && !isWithin(from, to)) await removeEmptyTree(store, to, replaceEmpty, move);
    const keep = retention.keepFolder('moveFolder', { user, onKept, replace: move.replace });
    await folders.moveFolder(from, to, { ...move, keep });
  };

  const maxPathBytes = maxPathBytesOf(store);
  const requireParents = async (path: FilePath | FolderPath) => {
    requireLength(path, maxPathBytes);
    await requireFewNewFolders(path, (folder) => folderExists(store, folder));
  };

  return {
    ...createTrashOperations(store),
    ...versions,
    downloadVersion: (file, id, download) => downloads.downloadVersion(file, id, download),
    versionUrl: async (file, id, download) => downloads.versionUrl(file, id, download),
    list: (folder, page = {}) => store.list(folder, { ...page, limit: page.limit ?? MAX_PAGE }),
    stat: (file, cancel) => store.stat(file, cancel),
    folderExists: (folder, cancel) => folderExists(store, folder, cancel),
    space: async (cancel) => store.space?.(cancel),
    read: (file, read) => store.read(file, read),
    download: (file, download) => downloads.download(file, download),
    downloadUrl: (file, download) => downloads.downloadUrl(file, download),
    readCached: (file) => downloads.readCached(file),

    requireUnlocked: async () => {},
    async upload(incoming, { user, onKept, ...change } = {}) {
      const keep = retention.keepFile({ user, onKept, replace: true });
      return upload(store, await withFewNewParents(incoming, requireParents), {
        ...change,
        keep,
        maxUploadSize: options.maxUploadSize,
      });
    },

    deleteFile: (file, remove = {}) => retention.delete(file, remove, (rest) => store.remove(file, rest)),

    async renameFile(file, name, rename) {
      const to = childFile(parentOf(file), name);
      requireNewName(file, to);
      await moveFile(store, file, to, keeping(rename));
      return to;
    },

    async copyFile(from, to, copy) {
      requireDifferent(from, to);
      await requireParents(to);
      return copyFile(store, from, to, keeping(copy));
    },

    async moveFile(from, to, { replaceEmpty, movedIdentity, ...move }) {
      requireDifferent(from, to);
      await requireParents(to);
      if (await isMovedBefore(store, { from, to, movedIdentity })) return;
      if (replaceEmpty) await removeEmptyTree(store, folderNamed(to), replaceEmpty, move);
      await moveFile(store, from, to, keeping(move));
    },

    async setModified(file, modified, cancel) {
      if (!store.setModified) throw new Error('The store can not change modification times.');
      return store.setModified(file, modified, cancel);
    },

    async createFolder(folder, { onUnchanged, ...cancel } = {}) {
      if (folder === ROOT) throw new StoreError('root-not-allowed', 'The path is empty. Name the folder to create.');
      await requireParents(folder);
      const isPresent = await folderExists(store, folder, cancel);
      await store.createFolder(folder, cancel);
      if (isPresent) onUnchanged?.();
    },

    async deleteFolder(folder, { onlyEmpty = false, withEmptyFolders, ...remove } = {}) {
      if (folder === ROOT) throw new StoreError('root-not-allowed', "The root can't be deleted.");
      if (withEmptyFolders) await removeEmptyChildren(store, folder, withEmptyFolders, remove);
      if (onlyEmpty) return store.removeFolder(folder, { signal: remove.signal });
      await retention.delete(folder, remove, (rest) => folders.deleteFolder(folder, rest));
    },

    async copyFolder(from, to, { user, onKept, onUnchanged, ...copy }) {
      await requireParents(to);
      const keep = retention.keepFolder('copyFolder', { user, onKept, onUnchanged, replace: copy.replace });
      await folders.copyFolder(from, to, { ...copy, keep });
    },
    moveFolder,

    async renameFolder(folder, name, rename) {
      const to = childFolder(parentOf(folder), name);
      if (folder !== ROOT) requireNewName(folder, to);
      await moveFolder(folder, to, rename);
      return to;
    },

    check: async (cancel) => store.check?.(cancel),
    quota: () => store.quota?.(),
    isPrivileged: (file) => store.isPrivileged?.(file) ?? false,
    isSizeCertain: (file) => store.isSizeCertain?.(file) ?? true,
    maxPathBytes: () => maxPathBytes,
  };
}

/** Returns an upload that fails before its content is stored if its destination needs too many new folders. */
async function withFewNewParents(
  incoming: IncomingFile,
  requireParents: (path: FilePath) => Promise<void>,
): Promise<IncomingFile> {
  const { target, body } = incoming;
  if (typeof target === 'function') {
    const findTarget = async () => {
      const found = await target();
      await requireParents(found.path);
      return found;
    };
    return { ...incoming, target: findTarget };
  }
  await requireParents(target.path).catch((error: unknown) => {
    // Nothing reads the body, so its failure would end the process.
    if (body instanceof Readable) body.destroy();
    throw error;
  });
  return incoming;
}

function requireDifferent(from: FilePath, to: FilePath): void {
  if (from === to) {
    throw new StoreError(
      'same-path',
      `The source and the destination are the same, ${quoted(from)}. Choose another destination.`,
    );
  }
}

function requireNewName(from: FilePath | FolderPath, to: FilePath | FolderPath): void {
  if (from === to) {
    throw new StoreError('same-path', `The new name ${quoted(nameOf(to))} is the current name. Choose another name.`);
  }
}

/** Returns whether an item with this identity has left the source of a move, and is at its destination. */
async function isMovedBefore<Path extends FilePath | FolderPath>(
  store: Store,
  { from, to, movedIdentity }: { readonly from: Path; readonly to: Path; readonly movedIdentity: string | undefined },
): Promise<boolean> {
  if (movedIdentity === undefined || (await store.identify?.(from)) !== undefined) return false;
  return (await identifyItem(store.identify, to)) === movedIdentity;
}
