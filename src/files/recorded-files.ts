import type { Change, ChangeRecord, ChangeType } from '../model/change.ts';
import { type ErrorKind, isStoreError } from '../model/error.ts';
import { identifyItem } from '../model/item-identity.ts';
import type { KeptId } from '../model/kept-ids.ts';
import { type FilePath, type FolderPath, isFolder, parentOf, ROOT } from '../model/path.ts';
import type { FileEntry, Store, WriteOutcome } from '../model/store.ts';
import type { Files } from './files.ts';

/** The parameters of a member of `Files`. */
type Args<Member extends keyof Files> = Parameters<Files[Member]>;

/** Adds the changes of operations to the change log. */
export interface ChangeRecording {
  /** Announces an operation, for which `end` will be called. */
  begin(): void;
  /**
   * Adds the changes of an operation, if any. Resolves to the ID of the last one when they are in the log, or to undefined
   * when the log is unavailable. Never rejects.
   */
  end(changes: readonly ChangeRecord[]): Promise<string | undefined>;
}

export interface RecordedFilesOptions {
  /** The username; undefined for an anonymous user. */
  readonly user: string | undefined;
  /** The ID of the share link of a visitor. */
  readonly link?: string | undefined;
  /** Called with each change that was made and recorded, before its promise resolves. */
  readonly onRecorded?: ((change: RecordedChange) => void) | undefined;
  /** Returns the identities to record. Absent for stores whose items have none. */
  readonly identify?: Store['identify'];
  /** The sequence number of the change that all changes undo. */
  readonly undoes?: number | undefined;
}

export interface RecordedChange {
  /** The ID in the log; undefined if the log was unavailable. */
  readonly id: string | undefined;
  readonly change: Change;
}

/** What an operation put away or restored: see `ChangeRecord.kept`. */
type Kept = KeptId | null | undefined;

/**
 * The files of one user, with a log of the changes. Each change is in the log before its promise resolves, except while
 * the log is unavailable. An operation whose outcome is unknown is recorded as `folder.changed`. `Required` makes a new
 * member of `Files` a type error here, also if it is optional.
 */
export class RecordedFiles implements Required<Files> {
  readonly #files: Files;
  readonly #recording: ChangeRecording;
  readonly #options: RecordedFilesOptions;

  constructor(files: Files, recording: ChangeRecording, options: RecordedFilesOptions) {
    this.#files = files;
    this.#recording = recording;
    this.#options = options;
  }

  list(...args: Args<'list'>) {
    return this.#files.list(...args);
  }

  stat(...args: Args<'stat'>) {
    return this.#files.stat(...args);
  }

  folderExists(...args: Args<'folderExists'>) {
    return this.#files.folderExists(...args);
  }

  space(...args: Args<'space'>) {
    return this.#files.space(...args);
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
    const onOutcome = (outcome: WriteOutcome) => {
      isReplaced = outcome.replaced;
      incoming.onOutcome?.(outcome);
    };
    const staged = typeof target === 'function' ? { ...incoming, target: findTarget } : incoming;
    return this.#run(
      (onKept) => this.#files.upload({ ...staged, onOutcome }, { ...options, onKept }),
      (file, kept) => describeFile(typeOfWrite(isReplaced, kept), file),
      () => (path === undefined ? [] : [parentOf(path)]),
      isUnchangedIfAtomic,
    );
  }

  deleteFile(...[file, options]: Args<'deleteFile'>) {
    return this.#run(
      (onKept) => this.#files.deleteFile(file, { ...options, onKept }),
      () => ({ type: 'file.deleted', path: file }),
      () => [parentOf(file)],
      isUnchangedIfAtomic,
    );
  }

  renameFile(...[file, name, options]: Args<'renameFile'>) {
    const moved = new MovedFile(file);
    return this.#run(
      (onKept) => this.#files.renameFile(file, name, { ...options, onKept, onNewEtag: moved.onNewEtag }),
      (path) => moved.describe(path),
      () => [parentOf(file)],
      isUnchangedIfSingle,
    );
  }

  copyFile(...[from, to, options]: Args<'copyFile'>) {
    return this.#run(
      (onKept) => this.#files.copyFile(from, to, { ...options, onKept }),
      (file) => ({ ...describeFile('file.copied', file), from }),
      () => [parentOf(to)],
      isUnchangedIfAtomic,
    );
  }

  moveFile(...[from, to, options]: Args<'moveFile'>) {
    const moved = new MovedFile(from);
    return this.#run(
      (onKept) => this.#files.moveFile(from, to, { ...options, onKept, onNewEtag: moved.onNewEtag }),
      () => moved.describe(to),
      () => [parentOf(from), parentOf(to)],
      isUnchangedIfSingle,
    );
  }

  setModified(...[file, modified, options]: Args<'setModified'>) {
    return this.#run(
      () => this.#files.setModified(file, modified, options),
      (entry) => describeFile('file.touched', entry),
      () => [parentOf(file)],
      isUnchangedIfAtomic,
    );
  }

  createFolder(...[folder, options]: Args<'createFolder'>) {
    // Each redo is recorded, so that it can be undone in its turn.
    const isRedo = this.#options.undoes !== undefined;
    return this.#run(
      (_onKept, onUnchanged) => this.#files.createFolder(folder, { ...options, ...(!isRedo && { onUnchanged }) }),
      () => ({ type: 'folder.created', path: folder }),
      () => [folder],
      isUnchangedIfAtomic,
    );
  }

  renameFolder(...[folder, name, options]: Args<'renameFolder'>) {
    return this.#run(
      (onKept) => this.#files.renameFolder(folder, name, { ...options, onKept }),
      (path) => ({ type: 'folder.moved', path, from: folder }),
      () => [parentOf(folder)],
      isUnchangedIfStepwise,
    );
  }

  deleteFolder(...[folder, options]: Args<'deleteFolder'>) {
    return this.#run(
      (onKept) => this.#files.deleteFolder(folder, { ...options, onKept }),
      () => ({ type: 'folder.deleted', path: folder }),
      () => [folder],
      isUnchangedIfStepwise,
    );
  }

  async copyFolder(...[from, to, options]: Args<'copyFolder'>) {
    const canHaveExisted = options.replace && (await this.#canExist(to));
    return this.#run(
      (onKept, onUnchanged) => this.#files.copyFolder(from, to, { ...options, onKept, onUnchanged }),
      () => ({ type: 'folder.copied', path: to, from }),
      // A copy that failed can have left nothing.
      async () => (canHaveExisted || (await this.#canExist(to)) ? [to] : []),
      isUnchangedIfStepwise,
    );
  }

  moveFolder(...[from, to, options]: Args<'moveFolder'>) {
    return this.#run(
      (onKept) => this.#files.moveFolder(from, to, { ...options, onKept }),
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
      async (onKept) => {
        const path = await this.#files.restoreTrashed(id, options);
        onKept(id);
        const file = isFolder(path) ? undefined : await this.#files.stat(path).catch(() => undefined);
        return { path, file };
      },
      ({ path, file }) => {
        if (isFolder(path)) return { type: 'folder.restored', path };
        return file ? describeFile('file.restored', file) : { type: 'file.restored', path };
      },
      () => [options?.to === undefined ? ROOT : parentOf(options.to)],
      isUnchangedIfSingle,
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
      (onKept) => this.#files.restoreVersion(file, id, { ...options, onKept }),
      (entry, kept) => describeFile(typeOfWrite(undefined, kept), entry),
      () => [parentOf(file)],
      isUnchangedIfAtomic,
    );
  }

  deleteVersions(...args: Args<'deleteVersions'>) {
    return this.#files.deleteVersions(...args);
  }

  check(...args: Args<'check'>) {
    return this.#files.check(...args);
  }

  quota() {
    return this.#files.quota();
  }

  requireUnlocked(...args: Args<'requireUnlocked'>) {
    return this.#files.requireUnlocked(...args);
  }

  isPrivileged(...args: Args<'isPrivileged'>) {
    return this.#files.isPrivileged(...args);
  }

  isSizeCertain(...args: Args<'isSizeCertain'>) {
    return this.#files.isSizeCertain(...args);
  }

  maxPathBytes() {
    return this.#files.maxPathBytes();
  }

  /** Returns whether a folder exists, or can't be examined. */
  #canExist(folder: FolderPath): Promise<boolean> {
    return this.#files.folderExists(folder).catch(() => true);
  }

  /**
   * Runs an operation and records its change, if it made one. After an error, records the folders of `affected` instead,
   * unless `isUnchangedAfter` the error.
   */
  async #run<Result>(
    operation: (onKept: (id: KeptId | null) => void, onUnchanged: () => void) => Promise<Result>,
    describe: (result: Result, kept: Kept) => Change,
    affected: () => readonly FolderPath[] | Promise<readonly FolderPath[]>,
    isUnchangedAfter: (error: unknown) => boolean,
  ): Promise<Result> {
    this.#recording.begin();
    const { user, link, undoes, identify, onRecorded } = this.#options;
    const author = { ...(user !== undefined && { user }), ...(link !== undefined && { link }) };
    let kept: Kept;
    let isUnchanged = false;
    let result: Result;
    try {
      result = await operation(
        (id) => {
          kept = id;
        },
        () => {
          isUnchanged = true;
        },
      );
    } catch (error) {
      const paths = isUnchangedAfter(error) ? [] : await affected();
      await this.#recording.end(paths.map((path) => ({ type: 'folder.changed', path, ...author })));
      throw error;
    }
    if (isUnchanged) {
      await this.#recording.end([]);
      return result;
    }
    const change = { ...describe(result, kept), ...author };
    const identity = isIdentified(change)
      ? await identifyItem(identify, change.path).catch(() => undefined)
      : undefined;
    const id = await this.#recording.end([
      {
        ...change,
        ...(kept !== undefined && { kept }),
        ...(undoes !== undefined && { undoes }),
        ...(identity !== undefined && { identity }),
      },
    ]);
    onRecorded?.({ id, change });
    return result;
  }
}

/** Whether only its identity tells what a change left at its path. The ETag tells it of a file that was written. */
const isIdentified = ({ type }: Change) =>
  type === 'file.moved' || type === 'folder.moved' || type === 'folder.copied' || type === 'folder.restored';

/** The move of a file, with its new ETag if the store can't keep the one that it had. */
class MovedFile {
  readonly #from: FilePath;
  #etag: string | undefined;

  constructor(from: FilePath) {
    this.#from = from;
  }

  readonly onNewEtag = (etag: string): void => {
    this.#etag = etag;
  };

  describe(path: FilePath): Change {
    return { type: 'file.moved', path, from: this.#from, ...(this.#etag !== undefined && { etag: this.#etag }) };
  }
}

const describeFile = (type: ChangeType, { path, size, etag }: FileEntry): Change => ({ type, path, size, etag });

/** `isReplaced` is undefined if the store does not know. What was kept tells it then, except if nothing is ever kept. */
function typeOfWrite(isReplaced: boolean | undefined, kept: Kept): ChangeType {
  if (isReplaced ?? typeof kept === 'string') return 'file.replaced';
  return isReplaced === undefined && kept === null ? 'file.written' : 'file.created';
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
const isUnchangedIfStepwise = (error: unknown) =>
  isStoreError(error) && (EARLY_ERRORS.has(error.kind) || error.code === 'other-file-system');

/**
 * For the operations above with a single file, or with a folder that does not merge into another one. A file or folder
 * in their way is found before the first change.
 */
const isUnchangedIfSingle = (error: unknown) => isUnchangedIfStepwise(error) || isStoreError(error, 'wrong-kind');
