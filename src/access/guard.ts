import type { Files } from '../files/files.ts';
import type { IncomingFile, UploadTarget } from '../files/upload.ts';
import type { LoggedChange } from '../model/change.ts';
import { isStoreError, undefinedIfNotFound } from '../model/error.ts';
import type { KeptId } from '../model/kept-ids.ts';
import { childFile, childFolder, type FilePath, type FolderPath, isFolder, parentOf, ROOT } from '../model/path.ts';
import type { Cancellable, Entry, FileEntry, TrashedItem, WriteCondition } from '../model/store.ts';
import { notInTrash } from '../model/store-errors.ts';
import { GuardedUpload } from './guarded-upload.ts';
import { type GuardOptions, PermissionChecks } from './permission-checks.ts';
import { PERMISSIONS, type Permission, type Policy } from './policy.ts';
import { isAffected, isVisible, visibleChanges, withoutUser } from './visible-changes.ts';
import { findEntries, listVisible } from './visible-entries.ts';

/** The parameters of a member of `Files`. */
type Args<Member extends keyof Files> = Parameters<Files[Member]>;

/** The action of the permanent removal of an item in the trash. */
const PURGE = 'delete from trash';

/** A change of a whole folder, as a user requests it. */
export type FolderOperation =
  | { readonly action: 'delete folder'; readonly from: FolderPath; readonly permanent: boolean }
  | {
      readonly action: 'copy folder' | 'move folder' | 'rename folder';
      readonly from: FolderPath;
      readonly to: FolderPath;
      readonly replace: boolean;
    };

/** A long change of the trash, as a user requests it. `from` is the path from which the item was deleted. */
export type TrashOperation =
  | {
      readonly action: 'restore';
      readonly id: KeptId;
      readonly from: FilePath | FolderPath;
      readonly to: FilePath | FolderPath;
      /** Whether to choose a numbered name if the name is taken. */
      readonly rename: boolean;
    }
  | { readonly action: typeof PURGE; readonly id: KeptId; readonly from: FilePath | FolderPath }
  | { readonly action: 'empty trash'; readonly folder: FolderPath };

/** A change that can continue after its request, as a job. */
export type Operation = FolderOperation | TrashOperation;

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
    const { policy, user, isHidden } = this.#checks;
    return listVisible(this.#files, { policy, user, isHidden }, folder, options);
  }

  /** Throws `AccessDenied` unless the user may read a folder. */
  requireRead(action: string, folder: FolderPath): void {
    this.#checks.require('read', action, folder);
  }

  /** Returns whether the user may list a folder. Records no refusal. */
  canList(folder: FolderPath): boolean {
    return this.#checks.canList(folder);
  }

  /** Returns whether the user may read a file, or everything directly in a folder. Records no refusal. */
  canRead(path: FilePath | FolderPath): boolean {
    return this.#canSee(path);
  }

  /**
   * Returns the file that a change names, for its conditions; undefined if it does not exist, or if the user may neither
   * read nor manage it. Records no refusal.
   */
  async findForChange(...[file, options]: Args<'stat'>): Promise<FileEntry | undefined> {
    const isFound = this.#canSee(file) || this.canManage(file);
    return isFound ? undefinedIfNotFound(this.#files.stat(file, options)) : undefined;
  }

  /** Returns whether the user has any permission for a file or folder. Records no refusal. */
  hasPermission(path: FilePath | FolderPath): boolean {
    const { policy, user } = this.#checks;
    return PERMISSIONS.some((permission) => policy.allows(user, permission, path));
  }

  /** Throws `AccessDenied` unless the user may add or replace a file, as `condition` asks. Returns whether they may replace it. */
  async requireWrite(file: FilePath, condition?: WriteCondition): Promise<boolean> {
    await this.#checks.confirmIdentity();
    return this.#checks.requireUpload(file, condition);
  }

  /** Throws `AccessDenied` unless the user may delete a file. */
  async requireDelete(file: FilePath): Promise<void> {
    await this.#checks.confirmIdentity();
    this.#checks.require('manage', 'delete', file);
  }

  /** Throws `AccessDenied` unless the user may create a folder. */
  async requireNewFolder(folder: FolderPath): Promise<void> {
    await this.#checks.confirmIdentity();
    this.#checks.require('write', 'create folder', folder);
  }

  /**
   * Sets a lock. Requires the permission to add a new file, and otherwise to change the file, or the folder and, with
   * `isDeep`, everything in it.
   */
  async lock<Result>(
    path: FilePath | FolderPath,
    { isNew, isDeep }: { readonly isNew: boolean; readonly isDeep: boolean },
    run: () => Promise<Result>,
  ): Promise<Result> {
    await this.#checks.confirmIdentity();
    if (isDeep) this.#checks.requireThroughout('manage', 'lock', path);
    else this.#checks.require(isNew ? 'write' : 'manage', 'lock', path);
    return this.#checks.record('lock', () => ({ path }), run);
  }

  /** Returns whether the user may lock an existing file or folder, or set its modification time. Records no refusal. */
  canManage(path: FilePath | FolderPath): boolean {
    const { policy, user } = this.#checks;
    return policy.allows(user, 'manage', path);
  }

  /** Returns whether the user may lock everything in a folder (true), nothing (false), or only some of it (undefined). */
  canLockWithin(folder: FolderPath): boolean | undefined {
    const { policy, user } = this.#checks;
    const folders = [folder, ...policy.grantFoldersBelow(user, folder)];
    const lockable = folders.filter((each) => this.canManage(each));
    return lockable.length > 0 && lockable.length < folders.length ? undefined : lockable.length > 0;
  }

  /** Throws `AccessDenied` unless the user may still add to what their lock covers, or change it. */
  async requireLockRefresh(path: FilePath | FolderPath): Promise<void> {
    await this.#checks.confirmIdentity();
    this.#checks.requireChange('lock', path);
  }

  /** Ends a lock. Requires that the user holds it, or may change what it covers. */
  async unlock(
    { path, isDeep }: { readonly path: FilePath | FolderPath; readonly isDeep: boolean },
    { isHolder }: { readonly isHolder: boolean },
    run: () => Promise<void>,
  ): Promise<void> {
    await this.#checks.confirmIdentity();
    if (isHolder) this.#checks.requireHolder('unlock', path);
    else if (isDeep) this.#checks.requireThroughout('manage', 'unlock', path);
    else this.#checks.require('manage', 'unlock', path);
    await this.#checks.record('unlock', () => ({ path }), run);
  }

  /** Sets properties of a file or folder. Requires the permission to add files to its folder. */
  async setProperties(path: FilePath | FolderPath, run: () => Promise<void>): Promise<void> {
    await this.#checks.confirmIdentity();
    this.#checks.require('write', 'set properties', path);
    await this.#checks.record('set properties', () => ({ path }), run);
  }

  async setModified(...[file, modified, options]: Args<'setModified'>) {
    await this.#checks.confirmIdentity();
    this.#checks.require('manage', 'set properties', file);
    return this.#files.setModified(file, modified, options);
  }

  /** Returns the entries at these paths that exist and that a listing of the folder would show. The paths are in `folder`. */
  async listPaths(
    folder: FolderPath,
    paths: readonly (FilePath | FolderPath)[],
    options: Cancellable,
  ): Promise<Entry[]> {
    this.#checks.requireList(folder);
    const { policy, user } = this.#checks;
    const visible = paths.filter((path) => isVisible(policy, user, path));
    return findEntries(this.#files, visible, options);
  }

  /** Throws `AccessDenied` unless the user may follow the changes of a path: list the folder, or read the file. */
  requireChanges(path: FilePath | FolderPath): void {
    if (isFolder(path)) this.#checks.requireList(path);
    else this.#checks.require('read', 'list', path);
  }

  /** Throws `AccessDenied` unless the user may add to or change all paths of a change. Each step of its undo checks more. */
  async requireUndo({ path, from, type }: LoggedChange): Promise<void> {
    await this.#checks.confirmIdentity();
    this.#checks.requireChange('undo', path);
    const isMove = type === 'file.moved' || type === 'folder.moved';
    if (isMove && from !== undefined) this.#checks.requireChange('undo', from);
  }

  /** Throws `AccessDenied` unless the user may manage the root. */
  async requireRootManagement(action: string): Promise<void> {
    await this.#checks.confirmIdentity();
    this.#checks.require('manage', action, ROOT);
  }

  /**
   * Throws `AccessDenied` unless the user may share a file or folder with these permissions: they have each of them.
   * `needsUser`: anonymous users share nothing.
   */
  async requireSharing(
    path: FilePath | FolderPath,
    permissions: readonly Permission[],
    { action, needsUser }: { readonly action: string; readonly needsUser: boolean },
  ): Promise<void> {
    await this.#checks.confirmIdentity();
    if (needsUser && this.#checks.user === undefined) this.#checks.refuse(action, path, 'share');
    for (const permission of permissions) this.#checks.require(permission, action, path);
  }

  /** The policy of this moment. Each change of the access file creates another one. */
  get policy(): Policy {
    return this.#checks.policy;
  }

  /** Returns whether the user may still follow the changes of a path. Records no refusal. */
  canSeeChanges(path: FilePath | FolderPath): boolean {
    return isFolder(path) ? this.#checks.canList(path) : this.policy.allows(this.#checks.user, 'read', path);
  }

  /** Returns a change as the user may see it at this moment, if it affects the file or folder `scope`. */
  visibleChanges(change: LoggedChange, scope: FilePath | FolderPath): readonly LoggedChange[] {
    const { policy, user } = this.#checks;
    const visible = visibleChanges(change, { policy, user, scope });
    return user ? visible : visible.map(withoutUser);
  }

  /** Returns whether the user may see the locks of a path at this moment, and they affect the file or folder `scope`. */
  canSeeLocks(path: FilePath | FolderPath, scope: FilePath | FolderPath): boolean {
    return this.#canSee(path) && isAffected(this.#checks.policy, path, scope);
  }

  async stat(...[file, options]: Args<'stat'>) {
    this.#checks.require('read', 'fetch', file);
    return this.#files.stat(file, options);
  }

  /** For a folder that only leads to folders that the user can see, does not reveal whether it exists. */
  async folderExists(...[folder, options]: Args<'folderExists'>) {
    this.#checks.requireList(folder);
    return !this.#canSee(folder) || this.#files.folderExists(folder, options);
  }

  async space(...[options]: Args<'space'>) {
    this.#checks.requireList(ROOT);
    return this.#files.space(options);
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
    let stored: FilePath | undefined;
    const change = () => {
      if (!upload.target) return undefined;
      // A numbered name is another path than the requested one.
      const path = stored ?? upload.target.path;
      return { path, destination: path, isNew: upload.target.condition === 'absent' };
    };
    return this.#checks.record('upload', change, async () => {
      const file = await this.#files
        .upload(upload.incoming, { ...options, user: this.#username })
        .catch((error: unknown) => upload.fail(error));
      stored = file.path;
      return file;
    });
  }

  /**
   * Runs `begin`, which begins an upload to this destination, with the condition that the user's permissions require: users
   * who may only add files replace none.
   */
  async beginUpload<Result>(target: UploadTarget, begin: (target: UploadTarget) => Promise<Result>): Promise<Result> {
    await this.#checks.confirmIdentity();
    const canReplace = this.#checks.requireUpload(target.path, target.condition);
    await this.#files.requireUnlocked(target.path);
    try {
      return await begin(canReplace ? target : { ...target, condition: 'absent' });
    } catch (error) {
      const isNameInUse = !canReplace && target.condition === undefined && isStoreError(error, 'condition-failed');
      if (isNameInUse) this.#checks.refuse('upload', target.path, 'replace');
      throw error;
    }
  }

  /**
   * Throws `locked` if a lock forbids an upload at this moment. For users without the permission, the upload is refused at
   * its end, and they learn nothing about locks.
   */
  async requireUnlocked(file: FilePath): Promise<void> {
    const { policy, user } = this.#checks;
    if (policy.allows(user, 'write', file)) await this.#files.requireUnlocked(file);
  }

  async deleteFile(...[file, options]: Args<'deleteFile'>) {
    await this.#checks.confirmIdentity();
    const action = options?.permanent ? 'delete permanently' : 'delete';
    this.#checks.require('manage', action, file);
    return this.#checks.record(
      action,
      () => ({ path: file }),
      () => this.#files.deleteFile(file, { ...options, user: this.#username }),
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
      () => this.#files.renameFile(file, name, { ...options, user: this.#username }),
    );
  }

  copyFile(...[from, to, options]: Args<'copyFile'>) {
    const transfer = { from, to, isMove: false, replace: options.replace };
    return this.#transfer('copy', transfer, () => this.#files.copyFile(from, to, { ...options, user: this.#username }));
  }

  moveFile(...[from, to, options]: Args<'moveFile'>) {
    const transfer = { from, to, isMove: true, replace: options.replace };
    return this.#transfer('move', transfer, () => this.#files.moveFile(from, to, { ...options, user: this.#username }));
  }

  async createFolder(...[folder, options]: Args<'createFolder'>) {
    await this.#checks.confirmIdentity();
    this.#checks.require('write', 'create folder', folder);
    this.#checks.requireFewHiddenFolders(folder);
    return this.#checks.record(
      'create folder',
      () => ({ path: folder, destination: folder }),
      () => this.#files.createFolder(folder, options),
    );
  }

  async renameFolder(...[folder, name, options]: Args<'renameFolder'>) {
    const to = childFolder(parentOf(folder), name);
    const transfer = { from: folder, to, isMove: true, replace: options.replace };
    return this.#transfer('rename folder', transfer, () =>
      this.#files.renameFolder(folder, name, { ...options, user: this.#username }),
    );
  }

  async deleteFolder(...[folder, options]: Args<'deleteFolder'>) {
    await this.#checks.confirmIdentity();
    const action = options?.permanent ? 'delete folder permanently' : 'delete folder';
    this.#checks.requireThroughout('manage', action, folder);
    return this.#checks.record(
      action,
      () => ({ path: folder }),
      () => this.#files.deleteFolder(folder, { ...options, user: this.#username }),
    );
  }

  copyFolder(...[from, to, options]: Args<'copyFolder'>) {
    const transfer = { from, to, isMove: false, replace: options.replace };
    return this.#transfer('copy folder', transfer, () =>
      this.#files.copyFolder(from, to, { ...options, user: this.#username }),
    );
  }

  moveFolder(...[from, to, options]: Args<'moveFolder'>) {
    const transfer = { from, to, isMove: true, replace: options.replace };
    return this.#transfer('move folder', transfer, () =>
      this.#files.moveFolder(from, to, { ...options, user: this.#username }),
    );
  }

  async listTrash(...[options = {}]: Args<'listTrash'>) {
    this.#checks.requireList(options.folder ?? ROOT, 'list trash');
    this.#checks.requireHistoryUser('list trash');
    const { isShown = () => true } = options;
    const page = await this.#files.listTrash({
      ...options,
      isShown: (path) => this.#checks.canSeeHistory(path) && isShown(path),
    });
    return { ...page, items: page.items.map((item) => this.#withVisibleSize(item)) };
  }

  async findTrashed(...[id, options]: Args<'findTrashed'>) {
    return this.#withVisibleSize(await this.#findVisible('see trash', id, options));
  }

  async restoreTrashed(...[id, options = {}]: Args<'restoreTrashed'>) {
    const action = 'restore';
    await this.#checks.confirmIdentity();
    const { path } = await this.#findVisible(action, id, options);
    const { to = path } = options;
    this.#requireRestorable(action, path, to);
    let destination = to;
    const permit = async (next: FilePath | FolderPath) => {
      destination = next;
      // A numbered name is another path than the requested one.
      this.#requireRestorable(action, path, next);
      this.#checks.requireThroughout('write', action, next);
      this.#checks.requireForContents(action, next);
      await this.#checks.requireUnusedIfHidden(next);
      await options.permit?.(next);
    };
    return this.#checks.record(
      action,
      () => ({ path, destination }),
      () => this.#files.restoreTrashed(id, { ...options, to, permit }),
    );
  }

  async purgeTrashed(...[id, options]: Args<'purgeTrashed'>) {
    await this.#checks.confirmIdentity();
    const { path } = await this.#findVisible(PURGE, id, options);
    this.#checks.requireThroughout('manage', PURGE, path);
    return this.#checks.record(
      PURGE,
      () => ({ path }),
      () => this.#files.purgeTrashed(id, options),
    );
  }

  /** Throws `AccessDenied` if the user can't read and manage `folder`, or any folder below it. */
  async emptyTrash(...[options = {}]: Args<'emptyTrash'>) {
    await this.#checks.confirmIdentity();
    this.#checks.requireManageWithin('empty trash', options.folder ?? ROOT);
    this.#checks.requireHistoryUser('empty trash');
    const { isShown = () => true, onRemoved = () => {} } = options;
    return this.#files.emptyTrash({
      ...options,
      isShown: (path) => this.#checks.canSeeHistory(path) && this.#canPurge(path) && isShown(path),
      onRemoved: (item) => {
        this.#checks.recordDone(PURGE, { path: item.path });
        onRemoved(item);
      },
    });
  }

  async listVersions(...[file, options]: Args<'listVersions'>) {
    this.#checks.requireHistory('list versions', file);
    return this.#files.listVersions(file, options);
  }

  async statVersion(...[file, id, options]: Args<'statVersion'>) {
    this.#checks.requireHistory('fetch version', file);
    return this.#files.statVersion(file, id, options);
  }

  async readVersion(...[file, id, options]: Args<'readVersion'>) {
    this.#checks.requireHistory('fetch version', file);
    return this.#files.readVersion(file, id, options);
  }

  async downloadVersion(...[file, id, options]: Args<'downloadVersion'>) {
    this.#checks.requireHistory('fetch version', file);
    return this.#files.downloadVersion(file, id, options);
  }

  async versionUrl(...[entry, id, options]: Args<'versionUrl'>) {
    this.#checks.requireHistory('fetch version', entry.path);
    return this.#files.versionUrl(entry, id, options);
  }

  async restoreVersion(...[file, id, options]: Args<'restoreVersion'>) {
    const action = 'restore version';
    await this.#checks.confirmIdentity();
    this.#checks.requireHistory(action, file);
    const canReplace = this.#checks.requireUpload(file, options?.condition, action);
    const condition = canReplace ? options?.condition : 'absent';
    return this.#checks.record(
      action,
      () => ({ path: file, destination: file, isNew: options?.condition === 'absent' }),
      () =>
        this.#files
          .restoreVersion(file, id, { ...options, condition, user: this.#username })
          .catch((error: unknown) => {
            const isNameInUse = !canReplace && options?.condition === undefined;
            if (isNameInUse && isStoreError(error, 'condition-failed')) this.#checks.refuse(action, file, 'replace');
            throw error;
          }),
    );
  }

  async deleteVersions(...[file, options]: Args<'deleteVersions'>) {
    const action = 'delete versions';
    await this.#checks.confirmIdentity();
    this.#checks.requireHistory(action, file);
    this.#checks.require('manage', action, file);
    return this.#checks.record(
      action,
      () => ({ path: file }),
      () => this.#files.deleteVersions(file, options),
    );
  }

  /** Throws `AccessDenied` if the user has no permission for an operation at this moment. Changes nothing. */
  async requireOperation(operation: Operation): Promise<void> {
    await this.#checks.confirmIdentity();
    const { action } = operation;
    switch (action) {
      case 'delete folder':
      case PURGE:
        return this.#checks.requireThroughout('manage', action, operation.from);
      case 'restore':
        this.#requireRestorable(action, operation.from, operation.to);
        return this.#checks.requireThroughout('write', action, operation.to);
      case 'empty trash':
        return this.#checks.requireManageWithin(action, operation.folder);
      default:
        return this.#checks.requireTransferPermissions(action, { ...operation, isMove: action !== 'copy folder' });
    }
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

  isSizeCertain(...[file]: Args<'isSizeCertain'>) {
    return this.#files.isSizeCertain(file);
  }

  maxPathBytes() {
    return this.#files.maxPathBytes();
  }

  #requireRestorable(action: string, path: FilePath | FolderPath, to: FilePath | FolderPath): void {
    this.#checks.requireThroughout('write', action, path);
    // The content becomes readable at another path, as by a move.
    if (to !== path) this.#checks.requireThroughout('read', action, path);
  }

  get #username(): string | undefined {
    return this.#checks.user?.name;
  }

  /**
   * Returns an item that the user can see. For any other id, throws the same `not-found` as for an id that does not
   * exist. Throws `AccessDenied` if the user can see nothing at all.
   */
  async #findVisible(action: string, id: KeptId, options: Cancellable = {}): Promise<TrashedItem> {
    this.#checks.requireList(ROOT, action);
    this.#checks.requireHistoryUser(action);
    const item = await this.#files.findTrashed(id, options);
    if (this.#checks.canSeeHistory(item.path)) return item;
    throw notInTrash(id);
  }

  #canSee(path: FilePath | FolderPath): boolean {
    return this.#checks.policy.allows(this.#checks.user, 'read', path);
  }

  #canPurge(path: FilePath | FolderPath): boolean {
    return this.#allowsThroughout('manage', path);
  }

  /** Omits the size of a folder if the user can't read all of it. */
  #withVisibleSize({ size, ...item }: TrashedItem): TrashedItem {
    return size === undefined || !this.#allowsThroughout('read', item.path) ? item : { ...item, size };
  }

  #allowsThroughout(permission: Permission, path: FilePath | FolderPath): boolean {
    const { policy, user } = this.#checks;
    return isFolder(path) ? policy.allowsThroughout(user, permission, path) : policy.allows(user, permission, path);
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
