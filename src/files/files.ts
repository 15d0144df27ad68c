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
  /** The largest upload, in bytes; unlimited where undefined. */
  readonly maxUploadSize?: number | undefined;
  /** Seconds that a presigned URL is good for. */
  readonly presignExpires: number;
  /** Where the contents of all files are given, by URLs that this signs, if not by the service itself. */
  readonly contents?: { readonly origin: string; readonly signer: UrlSigner } | undefined;
}

/** What a fetch gives: the file itself, or where to get it. */
export type Fetched = { readonly content: Content } | { readonly location: string };

/** Which part of a file is asked for, and which version of it. */
export type ReadOptions = { readonly range?: ByteRange; readonly ifMatch?: string } & Cancellable;

/** A file on its way in: `declaredType` is what the uploader said of it. */
export interface IncomingFile {
  readonly body: Readable;
  readonly release?: Release | undefined;
  readonly declaredType?: string | undefined;
  /** Is called when all bytes have come, before anything is stored for good: what it throws fails the upload. */
  readonly atEnd?: (() => Promise<void>) | undefined;
  /** Bytes that it may have at the most, where that is known. */
  readonly sizeAtMost?: number | undefined;
  /** The modification time to keep; called after the end of `body` and `atEnd`. */
  readonly modified?: Upload['modified'];
}

export type UploadOptions = { readonly condition?: WriteCondition | undefined } & Cancellable;

/** An upload that was taken in before its place was known. One of the two ends it; a second call does nothing. */
export interface StagedFile {
  commit(file: FilePath, options?: UploadOptions): Promise<FileEntry>;
  discard(): Promise<void>;
}

/**
 * What the service does with files and folders, on any store: the one home of its rules. All errors on purpose
 * are `StoreError`s, of the kinds that the store's members name.
 */
export interface Files extends FolderOperations {
  /** One page of a folder: at most `limit` entries, 1 to `MAX_PAGE`. */
  list(folder: FolderPath, options?: { cursor?: string; limit?: number } & Cancellable): Promise<Listing>;
  stat(file: FilePath, options?: Cancellable): Promise<FileEntry>;
  /** The file itself, whatever its size. */
  read(file: FilePath, options?: ReadOptions): Promise<Content>;
  /**
   * The file itself below the limit for that, else a presigned URL; `too-large` where the store has none to give. Where
   * `contents` are elsewhere, always a URL.
   */
  fetch(file: FilePath, options: ReadOptions & { download: boolean }): Promise<Fetched>;
  /** The file itself, where `fetch` would give it and the store has it in memory (`Store.readCached`); else undefined. */
  readCached(file: FilePath): ReturnType<NonNullable<Store['readCached']>>;
  /** The presigned URL that `fetch` gives for the file, or undefined where it gives the file itself. */
  downloadUrl(
    file: FileEntry,
    options: { download: boolean; purpose: 'read' | 'stat' } & Cancellable,
  ): Promise<string | undefined>;
  upload(file: FilePath, incoming: IncomingFile, options?: UploadOptions): Promise<FileEntry>;
  /** Takes in an upload whose place is told only after its bytes. */
  stage(incoming: IncomingFile, options?: Cancellable): Promise<StagedFile>;
  deleteFile(file: FilePath, options?: Cancellable): Promise<void>;
  /** Gives the file another name in its folder, and says its new path. */
  renameFile(file: FilePath, name: string, options: Replacing & Cancellable): Promise<FilePath>;
  copyFile(from: FilePath, to: FilePath, options: Replacing & Cancellable): Promise<void>;
  moveFile(from: FilePath, to: FilePath, options: Replacing & Cancellable): Promise<void>;
  createFolder(folder: FolderPath, options?: Cancellable): Promise<void>;
  /** Gives the folder another name where it is, and says its new path. */
  renameFolder(folder: FolderPath, name: string, options: FolderOptions): Promise<FolderPath>;
  /** Whether the store can be used; throws the reason. */
  check(options?: Cancellable): Promise<void>;
  /** What is left of the requests that the store's backend allows, where it does so and has told. */
  quota(): Quota | undefined;
  /** Whether writing this file takes the permission to manage the root (`Store.isPrivileged`). */
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

/** Files of this many bytes and more are not served directly, but by a presigned URL: the 6 MB of the interface. */
const DIRECT_LIMIT = 6 * 1024 * 1024;

/** How files get to who asks for them: themselves, or by a URL. */
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
      // A file that is not given directly has no ranges here.
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
 * When a URL expires that is good for `seconds` at the most, in seconds since 1970: at a time of which there are few, so
 * that a file has the same URL for a while, by which browsers know what they have kept.
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
