import type { Listing } from '../../../../src/http/schemas.ts';
import type { ByteRange } from './content.ts';
import { type RequestOptions, requestJson } from './request.ts';
import type { Upload, UploadedFile } from './upload.ts';
import type { Query, Urls } from './urls.ts';

export type { Listing } from '../../../../src/http/schemas.ts';
export type Entry = Listing['entries'][number];
export type FileEntry = Extract<Entry, { type: 'file' }>;
export type FolderEntry = Extract<Entry, { type: 'folder' }>;

/** The result of a change. */
export interface Changed {
  /** The ID of the change, for `undoChange`; undefined while the change log is unavailable. */
  readonly change?: string | undefined;
}

/** The result of a change that decides about the path of the item. */
export interface ChangedPath extends Changed {
  readonly path: string;
}

/**
 * The client of the HTTP API, without sessions. Every method throws `ServiceError`. Changes of stored files and folders
 * are in `file-operations.ts`.
 */
export interface Service {
  list(
    folder: string,
    options?: SessionOptions & { cursor?: string | undefined; limit?: number; signal?: AbortSignal },
  ): Promise<Listing>;
  upload(upload: Upload): Promise<UploadedFile>;
  createFolder(path: string, signal?: AbortSignal): Promise<Changed>;
  /** Reads a range of a file; returns fewer bytes at the end of the file. Also throws `StoreAccessError`. */
  read(path: string, range: ByteRange): Promise<Uint8Array>;
  /** Resolves if the service would return the file. Media elements don't report why they failed. */
  check(path: string, signal: AbortSignal): Promise<void>;
  /** Sends a request of a part of the page that loads lazily, such as `file-operations.ts` and `trash.ts`. */
  send<Body>(endpoint: string, options?: SendOptions<Body>): Promise<Body>;
}

/** What a request means for the session of the user. */
interface SessionOptions {
  /** Whether the page sends the request by itself. If the session has expired, it then fails without a sign-in dialog. */
  readonly isBackground?: boolean | undefined;
}

export interface SendOptions<Body = unknown> extends RequestOptions, SessionOptions {
  readonly query?: Query | undefined;
  /** Sends the request, and reads its response. Default: `requestJson`. */
  readonly request?: ((url: string, options: RequestOptions) => Promise<Body>) | undefined;
}

/** How to upload large files. */
export interface ServiceOptions {
  /** Bytes above which a file is sent in parts of this size; null if the service receives none. */
  readonly uploadPartBytes: number | null;
  readonly storage: Storage | undefined;
}

export function createService(urls: Urls, { uploadPartBytes, storage }: ServiceOptions): Service {
  return {
    list(folder, { cursor, limit, signal } = {}) {
      // With `prefix`, this URL is not the URL of a page, except for folders hidden by a route.
      const query = { prefix: folder, ...(cursor !== undefined && { cursor }), ...(limit && { limit: String(limit) }) };
      return requestJson(urls.endpoint('', query), { signal });
    },
    async upload(upload) {
      if (uploadPartBytes !== null && upload.file.size > uploadPartBytes) {
        const { sendInParts } = await import('./upload-parts.ts');
        return sendInParts(upload, { endpoint: urls.endpoint('-/uploads'), partBytes: uploadPartBytes, storage });
      }
      // This code is usually loaded already, together with the upload queue.
      const { sendUpload } = await import('./upload.ts');
      return sendUpload(urls.endpoint('upload'), upload);
    },
    createFolder: (path, signal) =>
      requestJson(urls.endpoint('create_folder'), { method: 'POST', body: { path }, signal }),
    read: async (path, range) => (await import('./content.ts')).readContent(urls.file(path), range),
    check: async (path, signal) => (await import('./content.ts')).checkContent(urls.file(path), signal),
    send: (endpoint, { query, request = requestJson, ...options } = {}) =>
      request(urls.endpoint(endpoint, query), options),
  };
}
