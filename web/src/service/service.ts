import type { Listing } from '../../../src/http/schemas.ts';
import { type AskOptions, ask, askWithProgress, type Progress } from './ask.ts';
import type { Part } from './content.ts';
import type { Upload, UploadedFile } from './upload.ts';
import { escapePath, type Urls } from './urls.ts';

export type { Listing } from '../../../src/http/schemas.ts';
export type Entry = Listing['entries'][number];
export type FileEntry = Extract<Entry, { type: 'file' }>;
export type FolderEntry = Extract<Entry, { type: 'folder' }>;

export interface OperationOptions {
  readonly signal?: AbortSignal | undefined;
  /** Told by operations on folders alone. */
  readonly onProgress?: (progress: Progress) => void;
}

/** The public interface of the service, as far as the page uses it. Everything throws `ServiceError`. */
export interface Service {
  list(
    folder: string,
    options?: { cursor?: string | undefined; limit?: number; signal?: AbortSignal },
  ): Promise<Listing>;
  upload(upload: Upload): Promise<UploadedFile>;
  createFolder(path: string, signal?: AbortSignal): Promise<void>;
  /** Gives the new path. A path with a "/" at its end is a folder's, here and below. */
  rename(path: string, newName: string, options?: OperationOptions & { overwrite?: boolean }): Promise<string>;
  transfer(
    kind: 'copy' | 'move',
    source: string,
    destination: string,
    options?: OperationOptions & { overwrite?: boolean },
  ): Promise<void>;
  remove(path: string, options?: OperationOptions): Promise<void>;
  /** A part of a file's bytes: less than was asked for where the file ends. May throw a `StoreRefusal` too. */
  read(path: string, part: Part): Promise<Uint8Array>;
  /** Settles where the service would give the file: what an element that could not show it does not tell. */
  check(path: string, signal: AbortSignal): Promise<void>;
}

/**
 * Milliseconds that the service may be silent while it is at one large file of a folder, or at a file alone, of which it
 * tells no progress.
 */
const BETWEEN_PROGRESS = 300_000;
const FOR_A_FILE = 600_000;

export function createService(urls: Urls): Service {
  const operate = <Answer>(
    path: string,
    isFolder: boolean,
    { onProgress = () => {}, signal }: OperationOptions,
    options: AskOptions,
  ): Promise<Answer> => {
    const url = urls.endpoint(path);
    return isFolder
      ? askWithProgress(url, { ...options, patience: BETWEEN_PROGRESS, signal, onProgress })
      : ask(url, { ...options, signal });
  };

  return {
    list(folder, { cursor, limit, signal } = {}) {
      // By `prefix`: but for folders that a route hides, that is not the address of a page, for which it could be taken.
      const query = { prefix: folder, ...(cursor !== undefined && { cursor }), ...(limit && { limit: String(limit) }) };
      return ask(urls.endpoint('', query), { signal });
    },
    async upload(upload) {
      // Loaded already, together with the queue of uploads.
      const { sendUpload } = await import('./upload.ts');
      return sendUpload(urls.endpoint('upload'), upload);
    },
    createFolder: (path, signal) => ask(urls.endpoint('create_folder'), { method: 'POST', body: { path }, signal }),
    async rename(path, newName, { overwrite = false, ...options } = {}) {
      const isFolder = path.endsWith('/');
      const body = { newName, ...(overwrite && { overwrite }) };
      const request = { method: 'POST', body, patience: FOR_A_FILE } as const;
      const route = `${isFolder ? 'rename_folder' : 'rename'}/${escapePath(path)}`;
      const answer = await operate<{ newKey?: string; newPrefix?: string }>(route, isFolder, options, request);
      return answer.newPrefix ?? answer.newKey ?? '';
    },
    transfer(kind, source, destination, { overwrite = false, ...options } = {}) {
      const isFolder = source.endsWith('/');
      const body = { source, destination, is_folder: isFolder, ...(overwrite && { overwrite }) };
      return operate(kind, isFolder, options, { method: 'POST', body, patience: FOR_A_FILE });
    },
    remove(path, options = {}) {
      const isFolder = path.endsWith('/');
      const route = `${isFolder ? 'delete_folder' : 'delete'}/${escapePath(path)}`;
      return operate(route, isFolder, options, { method: 'DELETE' });
    },
    read: async (path, part) => (await import('./content.ts')).readContent(urls.file(path), part),
    check: async (path, signal) => (await import('./content.ts')).checkContent(urls.file(path), signal),
  };
}
