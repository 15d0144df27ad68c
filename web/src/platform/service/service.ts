import type { Listing } from '../../../../src/http/schemas.ts';
import type { ByteRange } from './content.ts';
import { type Progress, type RequestOptions, requestJson, requestWithProgress } from './request.ts';
import type { Upload, UploadedFile } from './upload.ts';
import { escapePath, type Query, type Urls } from './urls.ts';

export type { Listing } from '../../../../src/http/schemas.ts';
export type Entry = Listing['entries'][number];
export type FileEntry = Extract<Entry, { type: 'file' }>;
export type FolderEntry = Extract<Entry, { type: 'folder' }>;

export interface OperationOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called only by folder operations. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** The client of the HTTP API, without sessions. Every method throws `ServiceError`. */
export interface Service {
  list(
    folder: string,
    options?: { cursor?: string | undefined; limit?: number; signal?: AbortSignal },
  ): Promise<Listing>;
  upload(upload: Upload): Promise<UploadedFile>;
  createFolder(path: string, signal?: AbortSignal): Promise<void>;
  /** Returns the new path. Here and below, the path of a folder ends with "/". */
  rename(path: string, newName: string, options?: OperationOptions & { overwrite?: boolean }): Promise<string>;
  transfer(
    kind: 'copy' | 'move',
    source: string,
    destination: string,
    options?: OperationOptions & { overwrite?: boolean },
  ): Promise<void>;
  /** Moves to the trash, if the service has one; with `permanent`, deletes at once. */
  remove(path: string, options?: OperationOptions & { permanent?: boolean }): Promise<void>;
  /** Reads a range of a file; returns fewer bytes at the end of the file. Also throws `StoreAccessError`. */
  read(path: string, range: ByteRange): Promise<Uint8Array>;
  /** Resolves if the service would return the file. Media elements don't report why they failed. */
  check(path: string, signal: AbortSignal): Promise<void>;
  /** Sends a request of a part of the page that loads lazily: see `trash.ts` and `versions.ts`. */
  send<Body>(endpoint: string, options?: SendOptions): Promise<Body>;
}

export interface SendOptions extends OperationOptions, Pick<RequestOptions, 'method' | 'body'> {
  readonly query?: Query | undefined;
}

/**
 * Timeouts in milliseconds: without progress of a folder operation, which reports none within a file, and for a
 * single file, which reports no progress at all.
 */
const PROGRESS_TIMEOUT_MS = 300_000;
const FILE_TIMEOUT_MS = 600_000;

export function createService(urls: Urls): Service {
  const operate = <Body>(
    path: string,
    isFolder: boolean,
    { onProgress = () => {}, signal }: OperationOptions,
    { query, ...options }: RequestOptions & Pick<SendOptions, 'query'>,
  ): Promise<Body> => {
    const url = urls.endpoint(path, query);
    return isFolder
      ? requestWithProgress(url, { ...options, idleTimeout: PROGRESS_TIMEOUT_MS, signal, onProgress })
      : requestJson(url, { ...options, signal });
  };

  return {
    list(folder, { cursor, limit, signal } = {}) {
      // With `prefix`, this URL is not the URL of a page, except for folders hidden by a route.
      const query = { prefix: folder, ...(cursor !== undefined && { cursor }), ...(limit && { limit: String(limit) }) };
      return requestJson(urls.endpoint('', query), { signal });
    },
    async upload(upload) {
      // This code is usually loaded already, together with the upload queue.
      const { sendUpload } = await import('./upload.ts');
      return sendUpload(urls.endpoint('upload'), upload);
    },
    createFolder: (path, signal) =>
      requestJson(urls.endpoint('create_folder'), { method: 'POST', body: { path }, signal }),
    async rename(path, newName, { overwrite = false, ...options } = {}) {
      const isFolder = path.endsWith('/');
      const body = { newName, ...(overwrite && { overwrite }) };
      const request = { method: 'POST', body, idleTimeout: FILE_TIMEOUT_MS } as const;
      const route = `${isFolder ? 'rename_folder' : 'rename'}/${escapePath(path)}`;
      const renamed = await operate<{ newKey?: string; newPrefix?: string }>(route, isFolder, options, request);
      return renamed.newPrefix ?? renamed.newKey ?? '';
    },
    transfer(kind, source, destination, { overwrite = false, ...options } = {}) {
      const isFolder = source.endsWith('/');
      const body = { source, destination, is_folder: isFolder, ...(overwrite && { overwrite }) };
      return operate(kind, isFolder, options, { method: 'POST', body, idleTimeout: FILE_TIMEOUT_MS });
    },
    remove(path, { permanent = false, ...options } = {}) {
      const isFolder = path.endsWith('/');
      const route = `${isFolder ? 'delete_folder' : 'delete'}/${escapePath(path)}`;
      const query = permanent ? { permanent: 'true' } : undefined;
      return operate(route, isFolder, options, { method: 'DELETE', query });
    },
    read: async (path, range) => (await import('./content.ts')).readContent(urls.file(path), range),
    check: async (path, signal) => (await import('./content.ts')).checkContent(urls.file(path), signal),
    send: (endpoint, { onProgress, signal, ...request } = {}) =>
      operate(endpoint, onProgress !== undefined, { onProgress, signal }, request),
  };
}

/** Timeout of signing in and out. */
const SESSION_TIMEOUT_MS = 30_000;

/** Returns the username of the session; null without a session. Throws `ServiceError`, like the functions below. */
export async function readSessionUser(urls: Urls): Promise<string | null> {
  const { name } = await requestJson<{ name: string | null }>(urls.endpoint('-/session'), {
    idleTimeout: SESSION_TIMEOUT_MS,
  });
  return name;
}

/** Creates a session. Returns the username. Throws `wrong-password` if the name or the password is wrong. */
export async function signIn(urls: Urls, body: { name: string; password: string }): Promise<string> {
  const { name } = await requestJson<{ name: string }>(urls.endpoint('-/session'), {
    method: 'POST',
    body,
    idleTimeout: SESSION_TIMEOUT_MS,
  });
  return name;
}

/** Revokes the session, on all devices that use it. */
export async function signOut(urls: Urls): Promise<void> {
  await requestJson(urls.endpoint('-/session'), { method: 'DELETE', idleTimeout: SESSION_TIMEOUT_MS });
}
