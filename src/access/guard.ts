import type { Files, UploadOptions } from '../files/files.ts';
import { exists, isStoreError, quoted, StoreError } from '../model/error.ts';
import {
  childFile,
  childFolder,
  type FilePath,
  type FolderPath,
  foundFolder,
  isFolder,
  nameOf,
  parentOf,
  ROOT,
} from '../model/path.ts';
import type { WriteCondition } from '../model/store.ts';
import type { AuditEvent } from './audit.ts';
import type { Identity, Permission, Policy } from './policy.ts';
import { listVisible } from './visible-entries.ts';

export interface GuardOptions {
  /** Returns the current policy. It can change while a request is in progress. */
  readonly policy: () => Policy;
  /** The user who sent the request; undefined for an anonymous request. */
  readonly user: Identity | undefined;
  /** Resolves if the user still has the same identity, otherwise throws: a request can take long to arrive. */
  readonly confirm: () => Promise<void>;
  /** Called for each refusal, and for each change after it has ended. */
  readonly record: (event: AuditEvent) => void;
}

/** The files as one user may see and change them. */
export interface GuardedFiles extends Files {
  /** Throws `AccessDenied` if the user can't add files to any folder. */
  requireUpload(): void;
}

/**
 * Returns the files as one user may see and change them. Every member checks the permissions first, by parsed paths,
 * and throws `AccessDenied`. Requests access files only through this object, so permissions are checked here and
 * nowhere else. docs/access.md lists the permission that each action needs.
 */
export function guardFiles(files: Files, { policy, user, confirm, record }: GuardOptions): GuardedFiles {
  const refuse = (action: string, path: string | undefined, verb: string): never => {
    const what = path === undefined ? '' : ` ${path === '' ? 'the root' : quoted(path)}`;
    const reason =
      user === undefined
        ? `Sign in to ${verb}${what}.`
        : `You are signed in as ${quoted(user.name)}, who may not ${verb}${what}.`;
    record({ event: 'refusal', action, ...(path !== undefined && { path }), outcome: 'refused', reason });
    throw new AccessDenied(reason, { isAnonymous: user === undefined });
  };
  const need = (right: Permission, action: string, path: FilePath | FolderPath) => {
    if (!policy().allows(user, right, path)) refuse(action, path, VERBS[right]);
    if (right === 'write') needOpenName(action, path);
  };
  /**
   * Refuses a file with the name of a folder that is closed to the user, whether the folder exists or not. A store that
   * cannot hold both would reveal the folder.
   */
  const needOpenName = (action: string, path: FilePath | FolderPath) => {
    if (isFolder(path)) return;
    // Undefined if the name is too long for a folder: no grant can name it.
    const folder = foundFolder(parentOf(path), nameOf(path));
    if (folder !== undefined && !policy().isVisible(user, folder)) refuse(action, path, VERBS.write);
  };
  /** Refuses files that change how the store treats other files, because the user may have no access to those files. */
  const needForContents = (action: string, path: FilePath | FolderPath) => {
    if (isFolder(path) || !files.isPrivileged(path) || policy().allows(user, 'manage', ROOT)) return;
    refuse(action, path, 'write, without "manage" on the root, a file that changes how the store treats others:');
  };
  const needThroughout = (right: Permission, action: string, folder: FolderPath) => {
    if (!policy().allowsThroughout(user, right, folder)) refuse(action, folder, `${VERBS[right]} all of`);
  };

  /** Returns whether the user may learn the kind of the entry that conflicts with `place`: the user can read it. */
  const mayTell = async (error: StoreError, place: FilePath | FolderPath): Promise<boolean> => {
    if (!policy().allows(user, 'read', place)) return false;
    if (error.kind !== 'wrong-kind') return true;
    for (const file of filesInTheWay(place)) {
      if (!policy().allows(user, 'read', file) && (await exists(files.stat(file)))) return false;
    }
    return true;
  };

  /**
   * Makes a change that is allowed, and records how it ended. Only users with read permission for a conflicting file
   * or folder at `destination` learn its kind. Other users get the same refusal for every conflict. `isNew` means
   * that the request asked not to replace anything: the refusal is then a failed condition.
   */
  const change = async <Result>(
    action: string,
    {
      path,
      destination,
      isNew = false,
    }: { path: FilePath | FolderPath; destination?: FilePath | FolderPath; isNew?: boolean },
    make: () => Promise<Result>,
  ): Promise<Result> => {
    const about = {
      event: 'change',
      action,
      path,
      ...(destination !== undefined && destination !== path && { destination }),
    } as const;
    try {
      const result = await make();
      record({ ...about, outcome: 'done' });
      return result;
    } catch (error) {
      const isHidden = destination !== undefined && isInTheWay(error) && !(await mayTell(error, destination));
      if (isHidden && !isNew) refuse(action, destination, 'replace');
      // A refusal has been recorded already. Other messages could reveal internals.
      if (!(error instanceof AccessDenied)) {
        record({ ...about, outcome: 'failed', ...(isStoreError(error) && { reason: error.message }) });
      }
      throw isHidden ? nameTaken(destination) : error;
    }
  };

  /**
   * Returns whether the upload may replace an existing file. Throws `AccessDenied` if the user can't upload the file.
   */
  const needForUpload = (file: FilePath, condition: WriteCondition | undefined): boolean => {
    need('write', 'upload', file);
    needForContents('upload', file);
    const mayReplace = policy().allows(user, 'manage', file);
    // An ETag condition asks to replace the existing file.
    if (!mayReplace && condition !== undefined && condition !== 'absent') refuse('upload', file, 'replace');
    return mayReplace;
  };

  /** Uploads a file. Users who may only add files never replace one. */
  const storeUpload = <Result>(
    file: FilePath,
    { condition, mayReplace }: { condition: WriteCondition | undefined; mayReplace: boolean },
    store: (condition: WriteCondition | undefined) => Promise<Result>,
  ): Promise<Result> =>
    change('upload', { path: file, destination: file, isNew: condition === 'absent' }, async () => {
      try {
        return await store(mayReplace ? condition : 'absent');
      } catch (error) {
        const isTakenName = !mayReplace && condition === undefined && isStoreError(error, 'condition-failed');
        return isTakenName ? refuse('upload', file, 'replace') : Promise.reject(error);
      }
    });

  /**
   * Requires the permissions for a move or copy. Reading the source is one of them, because its content becomes
   * readable at the destination.
   */
  const needForTransfer = async <Path extends FilePath | FolderPath>(
    needFor: (right: Permission, action: string, path: Path) => void,
    action: string,
    { from, to, moves, replace }: { from: Path; to: Path; moves: boolean; replace: boolean },
  ) => {
    await confirm();
    needFor('read', action, from);
    if (moves) needFor('manage', action, from);
    needFor('write', action, to);
    needForContents(action, to);
    if (replace) needFor('manage', action, to);
    else if (!policy().allows(user, 'read', to) && (await isTaken(files, to))) refuse(action, to, 'replace');
  };

  const requireUpload = () => {
    if (!policy().allowsSomewhere(user, 'write')) refuse('upload', undefined, 'upload');
  };

  return {
    requireUpload,
    async list(folder, options) {
      const isOpen = policy().allows(user, 'read', folder) || policy().isVisible(user, folder);
      if (!isOpen) refuse('list', folder, VERBS.read);
      return listVisible(files, policy(), user, folder, options);
    },
    async stat(file, options) {
      need('read', 'fetch', file);
      return files.stat(file, options);
    },
    async read(file, options) {
      need('read', 'fetch', file);
      return files.read(file, options);
    },
    async fetch(file, options) {
      need('read', 'fetch', file);
      return files.fetch(file, options);
    },
    readCached(file) {
      need('read', 'fetch', file);
      return files.readCached(file);
    },
    async downloadUrl(entry, options) {
      need('read', 'fetch', entry.path);
      return files.downloadUrl(entry, options);
    },
    async upload(file, incoming, options) {
      const condition = options?.condition;
      const mayReplace = needForUpload(file, condition);
      const atEnd = async () => {
        await incoming.atEnd?.();
        await confirm();
        if (!needForUpload(file, condition) && mayReplace) refuse('upload', file, 'replace');
      };
      return storeUpload(file, { condition, mayReplace }, (asked) =>
        files.upload(file, { ...incoming, atEnd }, { ...options, condition: asked }),
      );
    },
    async stage(incoming, options) {
      requireUpload();
      const waiting = await files.stage(incoming, options);
      return {
        async commit(file: FilePath, uploadOptions?: UploadOptions) {
          await confirm();
          const condition = uploadOptions?.condition;
          const mayReplace = needForUpload(file, condition);
          return storeUpload(file, { condition, mayReplace }, (asked) =>
            waiting.commit(file, { ...uploadOptions, condition: asked }),
          );
        },
        discard: () => waiting.discard(),
      };
    },
    async deleteFile(file, options) {
      await confirm();
      need('manage', 'delete', file);
      return change('delete', { path: file }, () => files.deleteFile(file, options));
    },
    async renameFile(file, name, options) {
      await confirm();
      // Grants apply to folders, and the file stays in its folder: the same permissions apply to both names.
      need('manage', 'rename', file);
      const destination = childFile(parentOf(file), name);
      needForContents('rename', destination);
      needOpenName('rename', destination);
      return change('rename', { path: file, destination }, () => files.renameFile(file, name, options));
    },
    async copyFile(from, to, options) {
      await needForTransfer(need, 'copy', { from, to, moves: false, replace: options.replace });
      return change('copy', { path: from, destination: to }, () => files.copyFile(from, to, options));
    },
    async moveFile(from, to, options) {
      await needForTransfer(need, 'move', { from, to, moves: true, replace: options.replace });
      return change('move', { path: from, destination: to }, () => files.moveFile(from, to, options));
    },
    async createFolder(folder, options) {
      await confirm();
      need('write', 'create folder', folder);
      return change('create folder', { path: folder, destination: folder }, () => files.createFolder(folder, options));
    },
    async renameFolder(folder, name, options) {
      const to = childFolder(parentOf(folder), name);
      await needForTransfer(needThroughout, 'rename folder', {
        from: folder,
        to,
        moves: true,
        replace: options.replace,
      });
      return change('rename folder', { path: folder, destination: to }, () =>
        files.renameFolder(folder, name, options),
      );
    },
    async deleteFolder(folder, options) {
      await confirm();
      needThroughout('manage', 'delete folder', folder);
      return change('delete folder', { path: folder }, () => files.deleteFolder(folder, options));
    },
    async copyFolder(from, to, options) {
      await needForTransfer(needThroughout, 'copy folder', { from, to, moves: false, replace: options.replace });
      return change('copy folder', { path: from, destination: to }, () => files.copyFolder(from, to, options));
    },
    async moveFolder(from, to, options) {
      await needForTransfer(needThroughout, 'move folder', { from, to, moves: true, replace: options.replace });
      return change('move folder', { path: from, destination: to }, () => files.moveFolder(from, to, options));
    },
    check: (options) => files.check(options),
    quota: () => files.quota(),
    isPrivileged: (file) => files.isPrivileged(file),
  };
}

const VERBS = { read: 'read', write: 'add to', manage: 'change' } as const satisfies Record<Permission, string>;

/** Returns whether a change failed because of a file or folder at its destination. */
const isInTheWay = (error: unknown): error is StoreError =>
  isStoreError(error, 'already-exists') || isStoreError(error, 'wrong-kind') || isStoreError(error, 'condition-failed');

/** Returns the error for a new file whose name is taken, with the same message for every conflict. */
function nameTaken(path: FilePath | FolderPath): StoreError {
  const message = `Something has the name of ${quoted(path)} or of one of its folders. Send another name.`;
  return new StoreError('condition-failed', message);
}

/** Returns the paths at which a file would conflict with a folder of `path`. */
function filesInTheWay(path: FilePath | FolderPath): FilePath[] {
  const inTheWay: FilePath[] = [];
  for (let folder = isFolder(path) ? path : parentOf(path); folder !== ROOT; folder = parentOf(folder)) {
    inTheWay.push(childFile(parentOf(folder), nameOf(folder)));
  }
  return inTheWay;
}

/**
 * Returns whether a file or folder exists at a destination. A store can mistake an identical one for the result of an
 * interrupted copy. A user who can't read it could then test guesses of its content.
 */
async function isTaken(files: Files, to: FilePath | FolderPath): Promise<boolean> {
  try {
    return await exists(isFolder(to) ? files.list(to, { limit: 1 }) : files.stat(to));
  } catch (error) {
    if (isStoreError(error, 'wrong-kind')) return true;
    throw error;
  }
}

/** The error for a request without the required permission. */
export class AccessDenied extends Error {
  override readonly name = 'AccessDenied';
  /** Whether the request is anonymous, so that signing in may help. */
  readonly isAnonymous: boolean;

  constructor(message: string, { isAnonymous }: { isAnonymous: boolean }) {
    super(message);
    this.isAnonymous = isAnonymous;
  }
}
