import type { Readable } from 'node:stream';
import { isStoreError, quoted, StoreError } from '../model/error.ts';
import { mediaTypeOfUpload } from '../model/media-type.ts';
import { childFile, childFolder, type FilePath, type FolderPath, nameOf, parentOf, ROOT } from '../model/path.ts';
import type { ByteRange } from '../model/range.ts';
import {
  type Cancellable,
  type Content,
  type FileEntry,
  type Listing,
  MAX_PAGE,
  type Quota,
  type Release,
  type Replacing,
  type Store,
  type Upload,
  type WriteCondition,
} from '../model/store.ts';
import { signedPath, type UrlSigner } from '../model/url-signer.ts';
import { checkedBody } from '../streams/bodies.ts';
import { copyFile, moveFile } from './copy-and-move.ts';
import { createFolderOperations, type FolderOperations } from './folder-operations.ts';
import { spool } from './spool.ts';
import type { FolderOptions } from './tree-operations.ts';

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

/** The result of a fetch: the content, or the URL to redirect to. */
export type Fetched = { readonly content: Content } | { readonly location: string };

/** The range and the version to read. */
export type ReadOptions = { readonly range?: ByteRange; readonly ifMatch?: string } & Cancellable;

/** A file to be uploaded. `declaredType` is the media type that the client sent. */
export interface IncomingFile {
  readonly body: Readable;
  readonly release?: Release | undefined;
  readonly declaredType?: string | undefined;
  /** Called after the last byte, before the file is committed. If it rejects, the upload fails. */
  readonly atEnd?: (() => Promise<void>) | undefined;
  /** Maximum size in bytes, if known. */
  readonly sizeAtMost?: number | undefined;
  /** Returns the modification time to store. Called after the end of `body` and `atEnd`. */
  readonly modified?: Upload['modified'];
}

export type UploadOptions = { readonly condition?: WriteCondition | undefined } & Cancellable;

/**
 * A staged upload, whose destination was unknown when its content arrived. Either function ends it; a second call
 * does nothing.
 */
export interface StagedFile {
  commit(file: FilePath, options?: UploadOptions): Promise<FileEntry>;
  discard(): Promise<void>;
}

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
   * Opens a file that is smaller than the limit, or returns a presigned URL for a larger one. Throws `too-large` if
   * the store has no presigned URLs. With `contents`, always returns a URL.
   */
  fetch(file: FilePath, options: ReadOptions & { download: boolean }): Promise<Fetched>;
  /**
   * Returns the cached content if `fetch` would return the content itself (`Store.readCached`); otherwise undefined.
   */
  readCached(file: FilePath): ReturnType<NonNullable<Store['readCached']>>;
  /** Returns the presigned URL that `fetch` returns for the file; undefined if `fetch` returns the content itself. */
  downloadUrl(
    file: FileEntry,
    options: { download: boolean; purpose: 'read' | 'stat' } & Cancellable,
  ): Promise<string | undefined>;
  upload(file: FilePath, incoming: IncomingFile, options?: UploadOptions): Promise<FileEntry>;
  /** Stages an upload whose destination is known only after its content. */
  stage(incoming: IncomingFile, options?: Cancellable): Promise<StagedFile>;
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

    async upload(file, { body, release, declaredType, atEnd, sizeAtMost, modified }, options) {
      const type = mediaTypeOfUpload(declaredType, nameOf(file));
      const checked = checkedBody(body, { limit: maxUploadSize, atEnd });
      return store.write(file, { body: checked, release, type, sizeAtMost, modified }, options);
    },

    async stage({ body, release, declaredType, modified }, options) {
      const limited = checkedBody(body, { limit: maxUploadSize });
      const staged = await (store.stage
        ? store.stage({ body: limited, release }, options)
        : spool(store, limited, options));
      return {
        commit: (file, uploadOptions) =>
          staged.publish(file, { type: mediaTypeOfUpload(declaredType, nameOf(file)), modified }, uploadOptions),
        discard: () => staged.discard(),
      };
    },

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
 * Files of at least this many bytes are served by a presigned URL instead of directly. This is the 6 MB limit of the
 * HTTP API.
 */
const DIRECT_LIMIT = 6 * 1024 * 1024;

/** Creates the members that serve contents, directly or by URL. */
export function createDownloads(
  store: Store,
  { presignExpires, contents }: Pick<FilesOptions, 'presignExpires' | 'contents'>,
): Pick<Files, 'fetch' | 'readCached' | 'downloadUrl'> {
  const presign = async (file: FileEntry, options: Parameters<Files['downloadUrl']>[1]) =>
    file.size < DIRECT_LIMIT ? undefined : store.presign?.(file, { ...options, expires: presignExpires });

  const downloadUrl: Files['downloadUrl'] = async (file, options) => {
    const presigned = await presign(file, options);
    if (contents && !presigned?.startsWith('http')) {
      const { origin, signer } = contents;
      const expires = expiryAfter(presignExpires, Date.now());
      return origin + (presigned ?? signedPath(signer, { file: file.path, expires, download: options.download }));
    }
    if (presigned === undefined && file.size >= DIRECT_LIMIT) throw noDownloadUrl(file);
    return presigned;
  };

  const fetchDirectly: Files['fetch'] = async (file, { download, ...options }): Promise<Fetched> => {
    const content = await store.read(file, { ...options, ifBelow: DIRECT_LIMIT }).catch(async (error: unknown) => {
      if (!isStoreError(error, 'range-unsatisfiable')) throw error;
      // Ranges apply only to files that the service serves directly. A larger file gets a redirect for any range.
      const entry = await store.stat(file, options);
      const location = await downloadUrl(entry, { download, purpose: 'read', signal: options.signal });
      if (location === undefined) throw error;
      return { location };
    });
    if ('location' in content) return content;
    if (content.file.size < DIRECT_LIMIT) return { content };
    content.body.destroy();
    const location = await downloadUrl(content.file, { download, purpose: 'read', signal: options.signal });
    return location === undefined ? { content } : { location };
  };

  return {
    downloadUrl,
    readCached: (file) => (contents ? undefined : store.readCached?.(file)),
    async fetch(file, options) {
      if (!contents) return fetchDirectly(file, options);
      const { download, signal } = options;
      const location = await downloadUrl(await store.stat(file, { signal }), { download, purpose: 'read', signal });
      return location === undefined ? fetchDirectly(file, options) : { location };
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
    `The file ${quoted(file.path)} has ${file.size} bytes. Files of ${DIRECT_LIMIT} bytes (6 MB) and more are ` +
      'fetched by a presigned URL, and this store has none.',
  );
}
