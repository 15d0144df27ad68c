import type { Files } from '../files/files.ts';
import { requireFewFolders } from '../files/new-folders.ts';
import { exists, isStoreError, quoted, StoreError } from '../model/error.ts';
import {
  childFile,
  type FilePath,
  type FolderPath,
  foldersOf,
  foundFolder,
  isFolder,
  MAX_PATH_BYTES,
  nameOf,
  parentOf,
  ROOT,
} from '../model/path.ts';
import type { WriteCondition } from '../model/store.ts';
import { alreadyExists } from '../model/store-errors.ts';
import type { AuditEvent } from './audit.ts';
import type { Identity, Permission, Policy } from './policy.ts';

export interface GuardOptions {
  /** Returns the current policy. It can change while a request is in progress. */
  readonly policy: () => Policy;
  /** The user who sent the request; undefined for an anonymous request. */
  readonly user: Identity | undefined;
  /** Whether the request came by a share link, so that signing in does not help. */
  readonly isLink?: boolean;
  /** Whether the request is anonymous although access control has users: it reads no earlier content. Default: false. */
  readonly isAnonymous?: boolean;
  /** The permission that the trash and versions need in addition to `read`. Default: `write`. */
  readonly historyPermission?: Permission | undefined;
  /** Whether the user sent an app token, which can lack permissions that the user has. */
  readonly isAppToken?: boolean;
  /** Resolves if the user still has the same identity, otherwise throws: a request can take a long time to arrive. */
  readonly confirm: () => Promise<void>;
  /** Returns whether listings omit a file or folder. Default: they omit none. */
  readonly isHidden?: ((path: FilePath | FolderPath) => boolean) | undefined;
  /** Called for each refusal, and for each change after it has ended. */
  readonly record: (event: AuditEvent) => void;
}

/** The error for a request without the required permission. */
export class AccessDenied extends Error {
  override readonly name = 'AccessDenied';
  /** Whether the request is anonymous, so that signing in might help. */
  readonly isAnonymous: boolean;

  constructor(message: string, { isAnonymous }: { isAnonymous: boolean }) {
    super(message);
    this.isAnonymous = isAnonymous;
  }
}

const VERBS = { read: 'read', write: 'add to', manage: 'change' } as const satisfies Record<Permission, string>;

type Path = FilePath | FolderPath;

/** The paths of a copy or move. `isMove`: the source is removed. `replace`: the destination may exist. */
export interface Transfer {
  readonly from: Path;
  readonly to: Path;
  readonly isMove: boolean;
  readonly replace: boolean;
}

/** A change to record. `isNew`: the request asked not to replace anything, so a refusal is a failed condition. */
export interface Change {
  readonly path: Path;
  readonly destination?: Path;
  readonly isNew?: boolean;
}

/**
 * The permission checks of one request. Each `require…` method throws `AccessDenied` and records the refusal if the
 * user lacks the permission.
 */
export class PermissionChecks {
  readonly #files: Files;
  readonly #options: GuardOptions;

  constructor(files: Files, options: GuardOptions) {
    this.#files = files;
    this.#options = options;
  }

  get user(): Identity | undefined {
    return this.#options.user;
  }

  get isHidden(): GuardOptions['isHidden'] {
    return this.#options.isHidden;
  }

  get policy(): Policy {
    return this.#options.policy();
  }

  /** Resolves if the user still has the same identity, otherwise throws. */
  confirmIdentity(): Promise<void> {
    return this.#options.confirm();
  }

  /** Records a refusal and throws `AccessDenied`. `hint` completes its message. */
  refuse(action: string, path: Path | undefined, verb: string, hint = ''): never {
    const { user, record } = this.#options;
    const target = path === undefined ? '' : ` ${path === '' ? 'the root' : quoted(path)}`;
    const reason = `${this.#reasonTo(verb)}${target}.${hint}`;
    record({ event: 'refusal', action, ...(path !== undefined && { path }), outcome: 'refused', reason });
    throw new AccessDenied(reason, { isAnonymous: user === undefined && !this.#options.isLink });
  }

  #reasonTo(verb: string): string {
    const { user, isLink = false, isAppToken = false } = this.#options;
    if (isLink) return `This link doesn't give permission to ${verb}`;
    if (user === undefined) return `Sign in to ${verb}`;
    if (isAppToken) return `This app token of ${quoted(user.name)} doesn't give permission to ${verb}`;
    return `You are signed in as ${quoted(user.name)} and don't have permission to ${verb}`;
  }

  require(permission: Permission, action: string, path: Path): void {
    if (!this.policy.allows(this.user, permission, path)) this.refuse(action, path, VERBS[permission]);
    if (permission === 'write') this.requireVisibleName(action, path);
  }

  /** Requires a permission for a folder and everything in it; for a file, the permission for the file. */
  requireThroughout(permission: Permission, action: string, path: Path): void {
    if (!isFolder(path)) return this.require(permission, action, path);
    if (!this.policy.allowsThroughout(this.user, permission, path))
      this.refuse(action, path, `${VERBS[permission]} all of`);
  }

  /** Requires of the user who holds a lock that their app token, if they sent one, could have set it. */
  requireHolder(action: string, path: Path): void {
    if (this.#options.isAppToken) this.requireChange(action, path);
  }

  /** Requires permission to add to a path, or to change it. */
  requireChange(action: string, path: Path): void {
    const isAllowed = (permission: Permission) => this.policy.allows(this.user, permission, path);
    if (!isAllowed('write') && !isAllowed('manage')) this.refuse(action, path, VERBS.manage);
  }

  /** Requires permission to see earlier contents of a path: see `canSeeHistory`. */
  requireHistory(action: string, path: Path): void {
    this.require('read', action, path);
    if (!this.canSeeHistory(path)) this.refuse(action, path, 'see earlier contents of');
  }

  /** Refuses anonymous users: what was public once is not public for ever. */
  requireHistoryUser(action: string): void {
    if (this.#options.isAnonymous) this.refuse(action, undefined, 'use the trash and versions');
  }

  /**
   * Returns whether the user may see what a path contained before: they can read it, and have the permission of the
   * setting. `manage` includes `write` here, because it allows replacing and deleting.
   */
  canSeeHistory(path: Path): boolean {
    const { isAnonymous = false, historyPermission = 'write' } = this.#options;
    const isAllowed = (permission: Permission) => this.policy.allows(this.user, permission, path);
    if (isAnonymous || !isAllowed('read')) return false;
    return isAllowed(historyPermission) || (historyPermission === 'write' && isAllowed('manage'));
  }

  /** Requires permission to list a folder: to read it, or a folder below it. */
  requireList(folder: FolderPath, action = 'list'): void {
    if (!this.canList(folder)) this.refuse(action, folder, VERBS.read);
  }

  canList(folder: FolderPath): boolean {
    return this.policy.allows(this.user, 'read', folder) || this.policy.isVisible(this.user, folder);
  }

  /** Requires permission to read and to change a folder, or a folder below it. */
  requireManageWithin(action: string, folder: FolderPath): void {
    const folders = [folder, ...this.policy.grantFoldersBelow(this.user, folder)];
    const isAllowed = (permission: Permission, each: FolderPath) => this.policy.allows(this.user, permission, each);
    if (folders.some((each) => isAllowed('read', each) && isAllowed('manage', each))) return;
    this.refuse(action, folder, VERBS.manage);
  }

  /** Requires permission to add files to any folder. */
  requireUploadAnywhere(): void {
    if (!this.policy.allowsSomewhere(this.user, 'write')) this.refuse('upload', undefined, 'upload');
  }

  /**
   * Refuses a file with the name of a folder that is closed to the user, whether the folder exists or not. A store that
   * cannot hold both would reveal the folder.
   */
  requireVisibleName(action: string, path: Path): void {
    if (isFolder(path)) return;
    // Undefined if the name is too long for a folder: no grant can name it.
    const folder = foundFolder(parentOf(path), nameOf(path), MAX_PATH_BYTES);
    if (folder !== undefined && !this.policy.isVisible(this.user, folder)) this.refuse(action, path, VERBS.write);
  }

  /**
   * Throws `invalid-request` for a path with more than 32 folders that the user may only add to. The limit of new folders would
   * reveal which of them exist.
   */
  requireFewHiddenFolders(path: Path): void {
    const allows = (permission: Permission, folder: FolderPath) => this.policy.allows(this.user, permission, folder);
    requireFewFolders(path, (folder) => allows('write', folder) && !allows('read', folder));
  }

  /**
   * Refuses files that change how the store treats other files, because the user might have no access to those files.
   */
  requireForContents(action: string, path: Path): void {
    if (isFolder(path) || !this.#files.isPrivileged(path) || this.policy.allows(this.user, 'manage', ROOT)) return;
    const hint = ' This file changes how the store treats other files, so it requires "manage" on the root.';
    this.refuse(action, path, VERBS.write, hint);
  }

  /**
   * Requires permission to upload a file. Returns whether the upload may replace an existing file; users who may only
   * add files never replace one.
   */
  requireUpload(file: FilePath, condition: WriteCondition | undefined, action = 'upload'): boolean {
    this.require('write', action, file);
    this.requireFewHiddenFolders(file);
    this.requireForContents(action, file);
    const canReplace = this.policy.allows(this.user, 'manage', file);
    // An ETag condition asks to replace the existing file.
    if (!canReplace && condition !== undefined && condition !== 'absent') this.refuse(action, file, 'replace');
    return canReplace;
  }

  /**
   * Requires the permissions for a move or copy. Reading the source is one of them, because its content becomes
   * readable at the destination.
   */
  async requireTransfer(action: string, transfer: Transfer): Promise<void> {
    await this.confirmIdentity();
    this.requireTransferPermissions(action, transfer);
    const { to, replace } = transfer;
    const mayConflict = !replace && !this.policy.allows(this.user, 'read', to);
    if (mayConflict && (await isPathInUse(this.#files, to))) this.refuse(action, to, 'replace');
  }

  /** Requires the permissions for a move or copy, whatever exists at the destination. */
  requireTransferPermissions(action: string, { from, to, isMove, replace }: Transfer): void {
    this.requireThroughout('read', action, from);
    if (isMove) this.requireThroughout('manage', action, from);
    this.requireThroughout('write', action, to);
    this.requireFewHiddenFolders(to);
    this.requireForContents(action, to);
    if (replace) this.requireThroughout('manage', action, to);
  }

  /**
   * Rejects with `already-exists` if the destination exists and the user can't read it. Otherwise, a store could mistake
   * it for the result of an interrupted operation, which would reveal its content.
   */
  async requireUnusedIfHidden(to: Path): Promise<void> {
    if (!this.policy.allows(this.user, 'read', to) && (await isPathInUse(this.#files, to))) throw alreadyExists(to);
  }

  /** Records a change that is done. */
  recordDone(action: string, change: Change): void {
    this.#options.record({ ...eventOf(action, change), outcome: 'done' });
  }

  /**
   * Makes a change that is allowed, and records how it ended. `change` is called when the change has ended, and returns
   * undefined if its path is still unknown: nothing is recorded then.
   *
   * Only users with read permission for a conflicting file or folder at the destination learn its kind. Other users get
   * the same refusal for every conflict.
   */
  async record<Result>(action: string, change: () => Change | undefined, run: () => Promise<Result>): Promise<Result> {
    try {
      const result = await run();
      const changed = change();
      if (changed) this.recordDone(action, changed);
      return result;
    } catch (error) {
      const changed = change();
      // A refusal has been recorded already.
      if (!changed || error instanceof AccessDenied) throw error;
      const { destination, isNew = false } = changed;
      const isHidden = destination !== undefined && isConflict(error) && !(await this.#canLearn(error, destination));
      if (isHidden && !isNew) this.refuse(action, destination, 'replace');
      // Other messages could reveal internals.
      const reason = isStoreError(error) ? { reason: error.message } : undefined;
      this.#options.record({ ...eventOf(action, changed), outcome: 'failed', ...reason });
      throw isHidden ? nameInUse(destination) : error;
    }
  }

  /** Returns whether the user may learn the kind of the entry that conflicts with `path`: the user can read it. */
  async #canLearn(error: StoreError, path: Path): Promise<boolean> {
    if (!this.policy.allows(this.user, 'read', path)) return false;
    if (error.kind !== 'wrong-kind') return true;
    for (const file of conflictingFiles(path)) {
      if (!this.policy.allows(this.user, 'read', file) && (await exists(this.#files.stat(file)))) return false;
    }
    return true;
  }
}

function eventOf(action: string, { path, destination }: Change): Omit<AuditEvent, 'outcome'> {
  return { event: 'change', action, path, ...(destination !== undefined && destination !== path && { destination }) };
}

/** Returns whether a change failed because of a file or folder at its destination. */
const isConflict = (error: unknown): error is StoreError =>
  isStoreError(error, 'already-exists') || isStoreError(error, 'wrong-kind') || isStoreError(error, 'condition-failed');

/** Returns the error for a new file whose name is taken, with the same message for every conflict. */
function nameInUse(path: Path): StoreError {
  const message = `The name of ${quoted(path)} or of one of its folders is already in use. Choose another name.`;
  return new StoreError('name-taken', message);
}

/** Returns the paths at which a file would conflict with a folder of `path`. */
function conflictingFiles(path: Path): FilePath[] {
  return foldersOf(path).map((folder) => childFile(parentOf(folder), nameOf(folder)));
}

/**
 * Returns whether a file or folder exists at a destination. A store can mistake an identical one for the result of an
 * interrupted copy. A user who can't read it could then test guesses of its content.
 */
async function isPathInUse(files: Files, to: Path): Promise<boolean> {
  try {
    return isFolder(to) ? await files.folderExists(to) : await exists(files.stat(to));
  } catch (error) {
    if (isStoreError(error, 'wrong-kind')) return true;
    throw error;
  }
}
