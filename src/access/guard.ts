import type { Files } from '../files/files.ts';
import type { IncomingFile, UploadTarget } from '../files/upload.ts';
import type { LoggedChange } from '../model/change.ts';
import { isStoreError } from '../model/error.ts';
import { childFile, childFolder, type FilePath, type FolderPath, parentOf } from '../model/path.ts';
import type { Cancellable, FileEntry } from '../model/store.ts';
import { type GuardOptions, PermissionChecks } from './permission-checks.ts';
import type { Policy } from './policy.ts';
import { visibleChanges } from './visible-changes.ts';
import { listVisible } from './visible-entries.ts';

/** The parameters of a member of `Files`. */
type Args<Member extends keyof Files> = Parameters<Files[Member]>;

/** A change of a whole folder, as a user requests it. */
export type FolderOperation =
  | { readonly action: 'delete folder'; readonly from: FolderPath }
  | {
      readonly action: 'copy folder' | 'move folder' | 'rename folder';
      readonly from: FolderPath;
      readonly to: FolderPath;
      readonly replace: boolean;
    };

/**
 * The files as one user may see and change them. Every member checks the permissions first, by parsed paths, and throws
 * `AccessDenied`. Requests access files only through this object, so permissions are checked here and nowhere else.
 * docs/reference/access-file.md lists the permission that each action needs.
 */
export class GuardedFiles implements Files {
  readonly #files: Files;
  readonly #checks: PermissionChecks;

  constructor(files: Files, options: GuardOptions) {
    this.#files = files;
    this.#checks = new PermissionChecks(files, options);
  }

  /** Throws `AccessDenied` if the user can't add files to any folder. */
  requireUpload(): void {
    this.#checks.requireUploadAnywhere();
  }

  async list(...[folder, options]: Args<'list'>) {
    this.#checks.requireList(folder);
    return listVisible(this.#files, this.#checks.policy, this.#checks.user, folder, options);
  }

  /** Throws `AccessDenied` unless the user may follow the changes of a folder: see it in a listing. */
  requireChanges(folder: FolderPath): void {
    this.#checks.requireList(folder);
  }

  /** The policy of this moment. Each change of the access file creates another one. */
  get policy(): Policy {
    return this.#checks.policy;
  }

  /** Returns whether the user may still follow the changes of a folder. Records no refusal. */
  canSeeChanges(folder: FolderPath): boolean {
    return this.#checks.canList(folder);
  }

  /** Returns a change as the user may see it at this moment, if it affects `folder`. */
  visibleChanges(change: LoggedChange, folder: FolderPath): readonly LoggedChange[] {
    const { policy, user } = this.#checks;
    return visibleChanges(change, { policy, user, folder });
  }

  async stat(...[file, options]: Args<'stat'>) {
    this.#checks.require('read', 'fetch', file);
    return this.#files.stat(file, options);
  }

  async read(...[file, options]: Args<'read'>) {
    this.#checks.require('read', 'fetch', file);
    return this.#files.read(file, options);
  }

  async download(...[file, options]: Args<'download'>) {
    this.#checks.require('read', 'fetch', file);
    return this.#files.download(file, options);
  }

  async downloadUrl(...[entry, options]: Args<'downloadUrl'>) {
    this.#checks.require('read', 'fetch', entry.path);
    return this.#files.downloadUrl(entry, options);
  }

  readCached(...[file]: Args<'readCached'>) {
    this.#checks.require('read', 'fetch', file);
    return this.#files.readCached(file);
  }

  async upload(incoming: IncomingFile, options?: Cancellable): Promise<FileEntry> {
    const upload = new GuardedUpload(this.#checks, incoming);
    const change = () =>
      upload.target && {
        path: upload.target.path,
        destination: upload.target.path,
        isNew: upload.target.condition === 'absent',
      };
    return this.#checks.record('upload', change, () =>
      this.#files.upload(upload.incoming, options).catch((error: unknown) => upload.fail(error)),
    );
  }

  async deleteFile(...[file, options]: Args<'deleteFile'>) {
    await this.#checks.confirmIdentity();
    this.#checks.require('manage', 'delete', file);
    return this.#checks.record(
      'delete',
      () => ({ path: file }),
      () => this.#files.deleteFile(file, options),
    );
  }

  async renameFile(...[file, name, options]: Args<'renameFile'>) {
    await this.#checks.confirmIdentity();
    // Grants apply to folders, and the file stays in its folder: the same permissions apply to both names.
    this.#checks.require('manage', 'rename', file);
    const destination = childFile(parentOf(file), name);
    this.#checks.requireForContents('rename', destination);
    this.#checks.requireVisibleName('rename', destination);
    return this.#checks.record(
      'rename',
      () => ({ path: file, destination }),
      () => this.#files.renameFile(file, name, options),
    );
  }

  copyFile(...[from, to, options]: Args<'copyFile'>) {
    const transfer = { from, to, isMove: false, replace: options.replace };
    return this.#transfer('copy', transfer, () => this.#files.copyFile(from, to, options));
  }

  moveFile(...[from, to, options]: Args<'moveFile'>) {
    const transfer = { from, to, isMove: true, replace: options.replace };
    return this.#transfer('move', transfer, () => this.#files.moveFile(from, to, options));
  }

  async createFolder(...[folder, options]: Args<'createFolder'>) {
    await this.#checks.confirmIdentity();
    this.#checks.require('write', 'create folder', folder);
    return this.#checks.record(
      'create folder',
      () => ({ path: folder, destination: folder }),
      () => this.#files.createFolder(folder, options),
    );
  }

  async renameFolder(...[folder, name, options]: Args<'renameFolder'>) {
    const to = childFolder(parentOf(folder), name);
    const transfer = { from: folder, to, isMove: true, replace: options.replace };
    return this.#transfer('rename folder', transfer, () => this.#files.renameFolder(folder, name, options));
  }

  async deleteFolder(...[folder, options]: Args<'deleteFolder'>) {
    await this.#checks.confirmIdentity();
    this.#checks.requireThroughout('manage', 'delete folder', folder);
    return this.#checks.record(
      'delete folder',
      () => ({ path: folder }),
      () => this.#files.deleteFolder(folder, options),
    );
  }

  copyFolder(...[from, to, options]: Args<'copyFolder'>) {
    const transfer = { from, to, isMove: false, replace: options.replace };
    return this.#transfer('copy folder', transfer, () => this.#files.copyFolder(from, to, options));
  }

  moveFolder(...[from, to, options]: Args<'moveFolder'>) {
    const transfer = { from, to, isMove: true, replace: options.replace };
    return this.#transfer('move folder', transfer, () => this.#files.moveFolder(from, to, options));
  }

  /** Throws `AccessDenied` if the user has no permission for an operation at this moment. Changes nothing. */
  async requireFolderOperation(operation: FolderOperation): Promise<void> {
    await this.#checks.confirmIdentity();
    const { action, from } = operation;
    if (action === 'delete folder') return this.#checks.requireThroughout('manage', action, from);
    const { to, replace } = operation;
    this.#checks.requireTransferPermissions(action, { from, to, isMove: action !== 'copy folder', replace });
  }

  check(...[options]: Args<'check'>) {
    return this.#files.check(options);
  }

  quota() {
    return this.#files.quota();
  }

  isPrivileged(...[file]: Args<'isPrivileged'>) {
    return this.#files.isPrivileged(file);
  }

  async #transfer<Path extends FilePath | FolderPath, Result>(
    action: string,
    transfer: { readonly from: Path; readonly to: Path; readonly isMove: boolean; readonly replace: boolean },
    run: () => Promise<Result>,
  ): Promise<Result> {
    await this.#checks.requireTransfer(action, transfer);
    return this.#checks.record(action, () => ({ path: transfer.from, destination: transfer.to }), run);
  }
}

/**
 * An upload whose permissions are checked as soon as its target is known, and again before it is committed: both the
 * user's permissions and the request's identity can end while the content arrives.
 */
class GuardedUpload {
  /** The upload to pass on, with the condition that the user's permissions require. */
  readonly incoming: IncomingFile;
  /** The target that the client requested; undefined while it is unknown. */
  target: UploadTarget | undefined;
  readonly #checks: PermissionChecks;
  #canReplace = true;

  constructor(checks: PermissionChecks, incoming: IncomingFile) {
    this.#checks = checks;
    const { target, atEnd } = incoming;
    if (typeof target === 'function') {
      checks.requireUploadAnywhere();
      this.incoming = { ...incoming, target: async () => this.#permit(await target()) };
      return;
    }
    const permitted = this.#authorize(target);
    this.incoming = {
      ...incoming,
      target: permitted,
      atEnd: async () => {
        await atEnd?.();
        await this.#permit(target);
      },
    };
  }

  /** Translates the error of a failed upload. A taken name is a refusal for users who may only add files. */
  fail(error: unknown): never {
    const isNameInUse = !this.#canReplace && this.target?.condition === undefined;
    if (this.target && isNameInUse && isStoreError(error, 'condition-failed')) {
      this.#checks.refuse('upload', this.target.path, 'replace');
    }
    throw error;
  }

  /** Checks identity and permissions at the end of the content. Returns the target with the required condition. */
  async #permit(target: UploadTarget): Promise<UploadTarget> {
    await this.#checks.confirmIdentity();
    const couldReplace = this.#canReplace;
    const isKnown = this.target !== undefined;
    const permitted = this.#authorize(target);
    // The store already got the condition of a target that was known before the content.
    if (isKnown && couldReplace && !this.#canReplace) this.#checks.refuse('upload', target.path, 'replace');
    return permitted;
  }

  #authorize(target: UploadTarget): UploadTarget {
    this.#canReplace = this.#checks.requireUpload(target.path, target.condition);
    this.target = target;
    return this.#canReplace ? target : { ...target, condition: 'absent' };
  }
}
