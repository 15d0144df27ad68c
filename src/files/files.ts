import { isStoreError, quoted, StoreError } from '../model/error.ts';
import { childFile, childFolder, type FilePath, type FolderPath, nameOf, parentOf, ROOT } from '../model/path.ts';
import type { ByteRange } from '../model/range.ts';
import {
  type Cancellable,
  type Content,
  type FileEntry,
  type Listing,
  MAX_PAGE,
  type Quota,
  type Replacing,
  type Store,
} from '../model/store.ts';
import { signedPath, type UrlSigner } from '../model/url-signer.ts';
import { copyFile, moveFile } from './copy-and-move.ts';
import { createFolderOperations, type FolderOperations } from './folder-operations.ts';
import type { FolderOptions } from './tree-operations.ts';
import { type IncomingFile, upload } from './upload.ts';

export interface FilesOptions {
  /** Maximum size of an upload in bytes; undefined for no limit. */
  readonly maxUploadSize?: number | undefined;
  /** Lifetime of a presigned URL in seconds. */
  readonly presignExpires: number;
  /**
   * The origin that serves all file contents, and the signer of its URLs. Undefined if the service serves contents
   * itself.
   */
  readonly contents?: { readonly origin: string; readonly signer: UrlSigner } | undefined;
}

/** How a client gets a file: the content, or the URL to redirect to. */
export type Download = { readonly content: Content } | { readonly url: string };

/** The range and the version to read. */
export type ReadOptions = { readonly range?: ByteRange; readonly ifMatch?: string } & Cancellable;

/** `asAttachment`: browsers save the file instead of displaying it. */
export type DownloadOptions = ReadOptions & { readonly asAttachment: boolean };

/**
 * The operations on files and folders, with all rules, on any store. Every expected error is a `StoreError` of the
 * kinds that the members of `Store` document.
 */
export interface Files extends FolderOperations {
  /** Returns one page of a folder: at most `limit` entries, from 1 to `MAX_PAGE`. */
  list(folder: FolderPath, options?: { cursor?: string; limit?: number } & Cancellable): Promise<Listing>;
  stat(file: FilePath, options?: Cancellable): Promise<FileEntry>;
  /** Opens a file of any size. */
  read(file: FilePath, options?: ReadOptions): Promise<Content>;
  /**
   * Returns the content of a file that is smaller than 6 MB, and a presigned URL for a larger one. Throws `too-large` if
   * the store has no presigned URLs. With `contents`, always returns a URL.
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
  /** Writes an uploaded file, or nothing if any part of the upload fails. Consumes `incoming.body`. */
  upload(incoming: IncomingFile, options?: Cancellable): Promise<FileEntry>;
  deleteFile(file: FilePath, options?: Cancellable): Promise<void>;
  /** Renames a file within its folder. Returns the new path. */
  renameFile(file: FilePath, name: string, options: Replacing & Cancellable): Promise<FilePath>;
  copyFile(from: FilePath, to: FilePath, options: Replacing & Cancellable): Promise<void>;
  moveFile(from: FilePath, to: FilePath, options: Replacing & Cancellable): Promise<void>;
  createFolder(folder: FolderPath, options?: Cancellable): Promise<void>;
  /** Renames a folder within its parent. Returns the new path. */
  renameFolder(folder: FolderPath, name: string, options: FolderOptions): Promise<FolderPath>;
  /** Checks that the store is usable. Throws the reason if it is not. */
  check(options?: Cancellable): Promise<void>;
  /**
   * Returns the remaining requests that the backend allows; undefined if the backend has no limit or has not reported
   * one.
   */
  quota(): Quota | undefined;
  /** Returns whether writing this file requires the manage permission for the root (`Store.isPrivileged`). */
  isPrivileged(file: FilePath): boolean;
}

export function createFiles(store: Store, { maxUploadSize, presignExpires, contents }: FilesOptions): Files {
  const folders = createFolderOperations(store);

  return {
    ...folders,
    list: (folder, options = {}) => store.list(folder, { ...options, limit: options.limit ?? MAX_PAGE }),
    stat: (file, options) => store.stat(file, options),
    read: (file, options) => store.read(file, options),
    ...createDownloads(store, { presignExpires, contents }),

    upload: (incoming, options) => upload(store, incoming, { ...options, maxUploadSize }),

    deleteFile: (file, options) => store.remove(file, options),

    async renameFile(file, name, options) {
      const to = childFile(parentOf(file), name);
      requireNewName(file, to);
      await moveFile(store, file, to, options);
      return to;
    },

    async copyFile(from, to, options) {
      requireDifferent(from, to);
      await copyFile(store, from, to, options);
    },

    async moveFile(from, to, options) {
      requireDifferent(from, to);
      await moveFile(store, from, to, options);
    },

    async createFolder(folder, options) {
      if (folder === ROOT) throw new StoreError('invalid-path', 'The path is empty: name the folder to create.');
      await store.createFolder(folder, options);
    },

    async renameFolder(folder, name, options) {
      const to = childFolder(parentOf(folder), name);
      if (folder !== ROOT) requireNewName(folder, to);
      await folders.moveFolder(folder, to, options);
      return to;
    },

    check: async (options) => store.check?.(options),
    quota: () => store.quota?.(),
    isPrivileged: (file) => store.isPrivileged?.(file) ?? false,
  };
}

function requireDifferent(from: FilePath, to: FilePath): void {
  if (from === to) {
    throw new StoreError('invalid-request', `The source and the destination are the same: ${quoted(from)}.`);
  }
}

function requireNewName(from: FilePath | FolderPath, to: FilePath | FolderPath): void {
  if (from === to) {
    throw new StoreError('invalid-request', `The new name ${quoted(nameOf(to))} is the name that it has already.`);
  }
}

/**
 * Maximum size of a file whose content the service sends itself. Larger files are downloaded by a presigned URL. This is
 * the 6 MB limit of the HTTP API.
 */
const MAX_DIRECT_BYTES = 6 * 1024 * 1024 - 1;

/** Creates the members that serve contents, directly or by URL. */
export function createDownloads(
  store: Store,
  { presignExpires, contents }: Pick<FilesOptions, 'presignExpires' | 'contents'>,
): Pick<Files, 'download' | 'downloadUrl' | 'readCached'> {
  const downloadUrl: Files['downloadUrl'] = async (file, { asAttachment, purpose, signal }) => {
    const isDirect = file.size <= MAX_DIRECT_BYTES;
    const options = { download: asAttachment, purpose, expires: presignExpires, signal };
    const presigned = isDirect ? undefined : await store.presign?.(file, options);
    if (contents && !presigned?.startsWith('http')) {
      const { origin, signer } = contents;
      const expires = expiryAfter(presignExpires, Date.now());
      return origin + (presigned ?? signedPath(signer, { file: file.path, expires, download: asAttachment }));
    }
    if (presigned === undefined && !isDirect) throw noDownloadUrl(file);
    return presigned;
  };

  /** Returns the URL of a file to read; undefined if the service sends the content. */
  const urlOf = (file: FileEntry, { asAttachment, signal }: DownloadOptions) =>
    downloadUrl(file, { asAttachment, purpose: 'read', signal });

  const openSmall = async (path: FilePath, options: DownloadOptions): Promise<Download> => {
    const { range, ifMatch, signal } = options;
    let content: Content;
    try {
      content = await store.read(path, { range, ifMatch, signal, maxSize: MAX_DIRECT_BYTES });
    } catch (error) {
      if (!isStoreError(error, 'range-unsatisfiable')) throw error;
      // Ranges apply only to files that the service serves directly. A larger file gets a redirect for any range.
      const url = await urlOf(await store.stat(path, options), options);
      if (url === undefined) throw error;
      return { url };
    }
    if (content.file.size <= MAX_DIRECT_BYTES) return { content };
    content.body.destroy();
    const url = await urlOf(content.file, options);
    return url === undefined ? { content } : { url };
  };

  return {
    downloadUrl,
    readCached: (file) => (contents ? undefined : store.readCached?.(file)),
    async download(path, options) {
      if (!contents) return openSmall(path, options);
      const url = await urlOf(await store.stat(path, options), options);
      return url === undefined ? openSmall(path, options) : { url };
    },
  };
}

/**
 * Returns the expiry of a URL that is valid for at most `seconds`, in seconds since 1970. The expiry is rounded down,
 * so that a file has the same URL for a while and browsers can cache its content.
 */
function expiryAfter(seconds: number, now: number): number {
  const step = Math.max(1, Math.floor(seconds / 4));
  return Math.floor((now / 1000 + seconds) / step) * step;
}

function noDownloadUrl(file: FileEntry): StoreError {
  return new StoreError(
    'too-large',
    `The file ${quoted(file.path)} has ${file.size} bytes. Files of ${MAX_DIRECT_BYTES + 1} bytes (6 MB) and more are ` +
      'fetched by a presigned URL, and this store has none.',
  );
}
