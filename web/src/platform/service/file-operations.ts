import { parentOf } from '../paths.ts';
import type { JobRequest, Jobs, OperationOptions } from './jobs.ts';
import type { Changed, ChangedPath, Service } from './service.ts';
import { escapePath } from './urls.ts';

/** Changes of stored files and folders. The service runs those of folders as jobs. Every method throws like `Jobs.run`. */
export interface FileOperations {
  /** Returns the new path. Here and below, the path of a folder ends with "/". */
  rename(path: string, newName: string, options?: OperationOptions & { overwrite?: boolean }): Promise<ChangedPath>;
  transfer(
    kind: 'copy' | 'move',
    source: string,
    destination: string,
    options?: OperationOptions & { overwrite?: boolean },
  ): Promise<Changed>;
  /** Moves to the trash, if the service has one; with `permanent`, deletes at once. */
  remove(path: string, options?: OperationOptions & { permanent?: boolean }): Promise<Changed>;
  /** Runs an operation of a part of the page that loads lazily: see `trash.ts`. */
  operate<Body>(endpoint: string, request: JobRequest, options: OperationOptions): Promise<Body>;
}

/** The client of the HTTP API with all changes. */
export type ChangeService = Service & FileOperations;

/** The response to a rename: the new path of a file, of a folder, or of either from a job. */
interface Renamed extends Changed {
  readonly newKey?: string;
  readonly newPrefix?: string;
  readonly path?: string;
}

/** Timeout of an operation on a file, which reports no progress, in milliseconds. */
const FILE_TIMEOUT_MS = 600_000;

/** Adds the operations to a service. */
export function withFileOperations(service: Service, jobs: Jobs): ChangeService {
  const operate = <Body>(
    endpoint: string,
    { isFolder, job, ...request }: JobRequest & { readonly isFolder: boolean },
    options: OperationOptions,
  ): Promise<Body> =>
    isFolder
      ? jobs.run(endpoint, { ...request, job }, options)
      : service.send(endpoint, { ...request, signal: options.signal, idleTimeout: FILE_TIMEOUT_MS });

  return {
    ...service,

    async rename(path, newName, { overwrite = false, ...options } = {}) {
      const isFolder = path.endsWith('/');
      const body = { newName, ...(overwrite && { overwrite }) };
      const job = { kind: 'rename-folder', input: { source: path, destination: `${parentOf(path)}${newName}/` } };
      const endpoint = `${isFolder ? 'rename_folder' : 'rename'}/${escapePath(path)}`;
      // The result of a job has the path in `path`.
      const { newPrefix, newKey, ...renamed } = await operate<Renamed>(
        endpoint,
        { method: 'POST', body, isFolder, job },
        options,
      );
      return { path: newPrefix ?? newKey ?? renamed.path ?? '', change: renamed.change };
    },
    transfer(kind, source, destination, { overwrite = false, ...options } = {}) {
      const isFolder = source.endsWith('/');
      const body = { source, destination, is_folder: isFolder, ...(overwrite && { overwrite }) };
      const job = { kind: `${kind}-folder`, input: { source, destination, overwrite } };
      return operate(kind, { method: 'POST', body, isFolder, job }, options);
    },
    remove(path, { permanent = false, ...options } = {}) {
      const isFolder = path.endsWith('/');
      const endpoint = `${isFolder ? 'delete_folder' : 'delete'}/${escapePath(path)}`;
      const query = permanent ? { permanent: 'true' } : undefined;
      const job = { kind: 'delete-folder', input: { source: path, permanent } };
      return operate(endpoint, { method: 'DELETE', query, isFolder, job }, options);
    },
    operate: (endpoint, request, options) => jobs.run(endpoint, request, options),
  };
}
