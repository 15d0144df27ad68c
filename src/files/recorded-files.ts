import type { Change, ChangeType } from '../model/change.ts';
import { type ErrorKind, isStoreError } from '../model/error.ts';
import { type FilePath, type FolderPath, isFolder, parentOf, ROOT } from '../model/path.ts';
import type { FileEntry } from '../model/store.ts';
import type { Files } from './files.ts';

/** The parameters of a member of `Files`. */
type Args<Member extends keyof Files> = Parameters<Files[Member]>;

/** Adds the changes of operations to the change log. */
export interface ChangeRecording {
  /** Announces an operation, for which `end` will be called. */
  begin(): void;
  /** Adds the changes of an operation, if any. Resolves when they are in the log, or when it is unavailable. Never rejects. */
  end(changes: readonly Change[]): Promise<void>;
}

/**
 * The files of one user, with a log of the changes. Each change is in the log before its promise resolves, except while
 * the log is unavailable. An operation whose outcome is unknown is recorded as `folder.changed`. `Required` makes a new
 * member of `Files` a type error here, also if it is optional.
 */
export class RecordedFiles implements Required<Files> {
  readonly #files: Files;
  readonly #recording: ChangeRecording;
  readonly #user: string | undefined;

  /** `user` is the username; undefined for an anonymous user. */
  constructor(files: Files, recording: ChangeRecording, user: string | undefined) {
    this.#files = files;
    this.#recording = recording;
    this.#user = user;
  }

  list(...args: Args<'list'>) {
    return this.#files.list(...args);
  }

  stat(...args: Args<'stat'>) {
    return this.#files.stat(...args);
  }

  read(...args: Args<'read'>) {
    return this.#files.read(...args);
  }

  download(...args: Args<'download'>) {
    return this.#files.download(...args);
  }

  downloadUrl(...args: Args<'downloadUrl'>) {
    return this.#files.downloadUrl(...args);
  }

  readCached(...args: Args<'readCached'>) {
    return this.#files.readCached(...args);
  }

  async upload(...[incoming, options]: Args<'upload'>): Promise<FileEntry> {
    let path: FilePath | undefined;
    let isReplaced: boolean | undefined;
    const { target } = incoming;
    const findTarget = async () => {
      const found = typeof target === 'function' ? await target() : target;
      path = found.path;
      return found;
    };
    if (typeof target !== 'function') path = target.path;
    const onOutcome = (outcome: { readonly replaced: boolean }) => {
      isReplaced = outcome.replaced;
    };
    const staged = typeof target === 'function' ? { ...incoming, target: findTarget } : incoming;
    return this.#run(
      () => this.#files.upload({ ...staged, onOutcome }, options),
      (file) => describeFile(typeOfWrite(isReplaced), file),
      () => (path === undefined ? [] : [parentOf(path)]),
      isUnchangedIfAtomic,
    );
  }

  deleteFile(...[file, options]: Args<'deleteFile'>) {
    return this.#run(
      () => this.#files.deleteFile(file, options),
      () => ({ type: 'file.deleted', path: file }),
      () => [parentOf(file)],
      isUnchangedIfAtomic,
    );
  }

  renameFile(...[file, name, options]: Args<'renameFile'>) {
    return this.#run(
      () => this.#files.renameFile(file, name, options),
      (path) => ({ type: 'file.moved', path, from: file }),
      () => [parentOf(file)],
      isUnchangedIfStepwise,
    );
  }

  copyFile(...[from, to, options]: Args<'copyFile'>) {
    return this.#run(
      () => this.#files.copyFile(from, to, options),
      (file) => ({ ...describeFile('file.copied', file), from }),
      () => [parentOf(to)],
      isUnchangedIfAtomic,
    );
  }

  moveFile(...[from, to, options]: Args<'moveFile'>) {
    return this.#run(
      () => this.#files.moveFile(from, to, options),
      () => ({ type: 'file.moved', path: to, from }),
      () => [parentOf(from), parentOf(to)],
      isUnchangedIfStepwise,
    );
  }

  createFolder(...[folder, options]: Args<'createFolder'>) {
    return this.#run(
      () => this.#files.createFolder(folder, options),
      () => ({ type: 'folder.created', path: folder }),
      () => [folder],
      isUnchangedIfAtomic,
    );
  }

  renameFolder(...[folder, name, options]: Args<'renameFolder'>) {
    return this.#run(
      () => this.#files.renameFolder(folder, name, options),
      (path) => ({ type: 'folder.moved', path, from: folder }),
      () => [parentOf(folder)],
      isUnchangedIfStepwise,
    );
  }

  deleteFolder(...[folder, options]: Args<'deleteFolder'>) {
    return this.#run(
      () => this.#files.deleteFolder(folder, options),
      () => ({ type: 'folder.deleted', path: folder }),
      () => [folder],
      isUnchangedIfStepwise,
    );
  }

  copyFolder(...[from, to, options]: Args<'copyFolder'>) {
    return this.#run(
      () => this.#files.copyFolder(from, to, options),
      () => ({ type: 'folder.copied', path: to, from }),
      () => [to],
      isUnchangedIfStepwise,
    );
  }

  moveFolder(...[from, to, options]: Args<'moveFolder'>) {
    return this.#run(
      () => this.#files.moveFolder(from, to, options),
      () => ({ type: 'folder.moved', path: to, from }),
      () => [from, to],
      isUnchangedIfStepwise,
    );
  }

  listTrash(...args: Args<'listTrash'>) {
    return this.#files.listTrash(...args);
  }

  findTrashed(...args: Args<'findTrashed'>) {
    return this.#files.findTrashed(...args);
  }

  async restoreTrashed(...[id, options]: Args<'restoreTrashed'>) {
    const restored = await this.#run(
      async () => {
        const path = await this.#files.restoreTrashed(id, options);
        const file = isFolder(path) ? undefined : await this.#files.stat(path).catch(() => undefined);
        return { path, file };
      },
      // The content of a restored folder is unknown.
      ({ path, file }) =>
        file ? describeFile('file.created', file) : { type: 'folder.changed', path: folderOf(path) },
      () => [options?.to === undefined ? ROOT : parentOf(options.to)],
      isUnchangedIfStepwise,
    );
    return restored.path;
  }

  purgeTrashed(...args: Args<'purgeTrashed'>) {
    return this.#files.purgeTrashed(...args);
  }

  emptyTrash(...args: Args<'emptyTrash'>) {
    return this.#files.emptyTrash(...args);
  }

  listVersions(...args: Args<'listVersions'>) {
    return this.#files.listVersions(...args);
  }

  statVersion(...args: Args<'statVersion'>) {
    return this.#files.statVersion(...args);
  }

  readVersion(...args: Args<'readVersion'>) {
    return this.#files.readVersion(...args);
  }

  downloadVersion(...args: Args<'downloadVersion'>) {
    return this.#files.downloadVersion(...args);
  }

  versionUrl(...args: Args<'versionUrl'>) {
    return this.#files.versionUrl(...args);
  }

  restoreVersion(...[file, id, options]: Args<'restoreVersion'>) {
    return this.#run(
      () => this.#files.restoreVersion(file, id, options),
      (entry) => describeFile('file.written', entry),
      () => [parentOf(file)],
      isUnchangedIfAtomic,
    );
  }

  check(...args: Args<'check'>) {
    return this.#files.check(...args);
  }

  quota() {
    return this.#files.quota();
  }

  isPrivileged(...args: Args<'isPrivileged'>) {
    return this.#files.isPrivileged(...args);
  }

  /**
   * Runs an operation and records its change. After an error, records the folders of `affected` instead, unless
   * `isUnchangedAfter` the error.
   */
  async #run<Result>(
    operation: () => Promise<Result>,
    describe: (result: Result) => Change,
    affected: () => readonly FolderPath[],
    isUnchangedAfter: (error: unknown) => boolean,
  ): Promise<Result> {
    this.#recording.begin();
    let changes: readonly Change[] = [];
    try {
      const result = await operation();
      changes = [describe(result)];
      return result;
    } catch (error) {
      if (!isUnchangedAfter(error)) changes = affected().map((path) => ({ type: 'folder.changed', path }));
      throw error;
    } finally {
      const user = this.#user;
      await this.#recording.end(user === undefined ? changes : changes.map((change) => ({ ...change, user })));
    }
  }
}

const describeFile = (type: ChangeType, { path, size, etag }: FileEntry): Change => ({ type, path, size, etag });

/** Returns the path itself if it is a folder; otherwise the folder that contains it. */
const folderOf = (path: FilePath | FolderPath): FolderPath => (isFolder(path) ? path : parentOf(path));

/** `isReplaced` is undefined if the store does not know. */
function typeOfWrite(isReplaced: boolean | undefined): ChangeType {
  if (isReplaced === undefined) return 'file.written';
  return isReplaced ? 'file.replaced' : 'file.created';
}

/** For operations in one step. Only the outcome of a request to a backend that did not respond is unknown. */
const isUnchangedIfAtomic = (error: unknown) => !isStoreError(error, 'unavailable');

/** The kinds of errors with which an operation of several steps fails before its first change. */
const EARLY_ERRORS: ReadonlySet<ErrorKind> = new Set([
  'not-found',
  'already-exists',
  'invalid-path',
  'invalid-request',
]);

/** In some stores, moves of files and operations on folders leave a part of their changes if they fail or are cancelled. */
const isUnchangedIfStepwise = (error: unknown) => isStoreError(error) && EARLY_ERRORS.has(error.kind);
