import { isStoreError, isThere, quoted, StoreError } from '../domain/error.ts';
import type { Files, UploadOptions } from '../domain/files.ts';
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
} from '../domain/path.ts';
import type { WriteCondition } from '../domain/store.ts';
import { AccessDenied } from './access-denied.ts';
import type { AuditEvent } from './audit.ts';
import type { Identity } from './identity.ts';
import type { Policy } from './policy.ts';
import type { Right } from './rights.ts';
import { listVisible } from './visible-folders.ts';

export interface GuardOptions {
  /** What holds at the moment: it may change while a request is under way. */
  readonly policy: () => Policy;
  /** Who asks; undefined for somebody who did not say. */
  readonly who: Identity | undefined;
  /** Settles where the asker is still who they were, and throws else: a request may take long to arrive. */
  readonly confirm: () => Promise<void>;
  /** Told of each refusal, and of each change when it has ended. */
  readonly record: (event: AuditEvent) => void;
}

/** The files as one user may see and change them. */
export interface GuardedFiles extends Files {
  /** Throws `AccessDenied` if the user can't add files to any folder. */
  requireUpload(): void;
}

/**
 * The files as one asker may see and change them: every member decides first, by paths that are parsed already, and
 * throws `AccessDenied`. It is the only way from a request to the files, and so the one place where anything is allowed.
 * docs/access.md has the table of what needs which right.
 */
export function guardFiles(files: Files, { policy, who, confirm, record }: GuardOptions): GuardedFiles {
  const refuse = (action: string, path: string | undefined, verb: string): never => {
    const what = path === undefined ? '' : ` ${path === '' ? 'the root' : quoted(path)}`;
    const reason =
      who === undefined
        ? `Sign in to ${verb}${what}.`
        : `You are signed in as ${quoted(who.name)}, who may not ${verb}${what}.`;
    record({ event: 'refusal', action, ...(path !== undefined && { path }), outcome: 'refused', reason });
    throw new AccessDenied(reason, { isAnonymous: who === undefined });
  };
  const need = (right: Right, action: string, path: FilePath | FolderPath) => {
    if (!policy().may(who, right, path)) refuse(action, path, VERBS[right]);
    if (right === 'write') needOpenName(action, path);
  };
  /**
   * Refuses a file with the name of a folder that is closed to the user, whether the folder exists or not: a store that
   * can't hold both would tell.
   */
  const needOpenName = (action: string, path: FilePath | FolderPath) => {
    if (isFolder(path)) return;
    // Without one, the name is too long for a folder, and no grant has it.
    const folder = foundFolder(parentOf(path), nameOf(path));
    if (folder !== undefined && !policy().isVisible(who, folder)) refuse(action, path, VERBS.write);
  };
  /** For a file that would change how the store treats other files: its folder may be open to users who may not read those. */
  const needForContents = (action: string, path: FilePath | FolderPath) => {
    if (isFolder(path) || !files.isPrivileged(path) || policy().may(who, 'manage', ROOT)) return;
    refuse(action, path, 'write, without "manage" on the root, a file that changes how the store treats others:');
  };
  const needThroughout = (right: Right, action: string, folder: FolderPath) => {
    if (!policy().mayThroughout(who, right, folder)) refuse(action, folder, `${VERBS[right]} all of`);
  };

  /** Whether what is in the way at `place` may be told: the user can read what is there. */
  const mayTell = async (error: StoreError, place: FilePath | FolderPath): Promise<boolean> => {
    if (!policy().may(who, 'read', place)) return false;
    if (error.kind !== 'wrong-kind') return true;
    for (const file of filesInTheWay(place)) {
      if (!policy().may(who, 'read', file) && (await isThere(files.stat(file)))) return false;
    }
    return true;
  };

  /**
   * Makes a change that was allowed, and records how it ended. What is in the way at the `destination` is told only to
   * users who can read it: others get the same refusal, whatever it is. With `isNew`, the request asked not to replace
   * anything, and that refusal is a condition that does not hold.
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
      // The reason of a refusal was recorded already; other messages may reveal internals.
      if (!(error instanceof AccessDenied)) {
        record({ ...about, outcome: 'failed', ...(isStoreError(error) && { reason: error.message }) });
      }
      throw isHidden ? nameTaken(destination) : error;
    }
  };

  /** Whether an upload may replace what is there. Refuses one that may not be made at all. */
  const needForUpload = (file: FilePath, condition: WriteCondition | undefined): boolean => {
    need('write', 'upload', file);
    needForContents('upload', file);
    const mayReplace = policy().may(who, 'manage', file);
    // An etag is that of what is to be replaced.
    if (!mayReplace && condition !== undefined && condition !== 'absent') refuse('upload', file, 'replace');
    return mayReplace;
  };

  /** Uploads so that nothing is replaced by somebody who may only add. */
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

  /** What is moved can be read at its destination, even if its folder is closed to reading: so it needs that too. */
  const needForTransfer = async <Path extends FilePath | FolderPath>(
    needFor: (right: Right, action: string, path: Path) => void,
    action: string,
    { from, to, moves, replace }: { from: Path; to: Path; moves: boolean; replace: boolean },
  ) => {
    await confirm();
    needFor('read', action, from);
    if (moves) needFor('manage', action, from);
    needFor('write', action, to);
    needForContents(action, to);
    if (replace) needFor('manage', action, to);
    else if (!policy().may(who, 'read', to) && (await isTaken(files, to))) refuse(action, to, 'replace');
  };

  const requireUpload = () => {
    if (!policy().maySomewhere(who, 'write')) refuse('upload', undefined, 'upload');
  };

  return {
    requireUpload,
    async list(folder, options) {
      const isOpen = policy().may(who, 'read', folder) || policy().isVisible(who, folder);
      if (!isOpen) refuse('list', folder, VERBS.read);
      return listVisible(files, policy(), who, folder, options);
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
    atHand(file) {
      need('read', 'fetch', file);
      return files.atHand(file);
    },
    async locate(entry, options) {
      need('read', 'fetch', entry.path);
      return files.locate(entry, options);
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
    async takeIn(incoming, options) {
      requireUpload();
      const waiting = await files.takeIn(incoming, options);
      return {
        async uploadTo(file: FilePath, uploadOptions?: UploadOptions) {
          await confirm();
          const condition = uploadOptions?.condition;
          const mayReplace = needForUpload(file, condition);
          return storeUpload(file, { condition, mayReplace }, (asked) =>
            waiting.uploadTo(file, { ...uploadOptions, condition: asked }),
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
      // Grants are for folders, and the file stays in its own: what is allowed before is allowed after.
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

const VERBS = { read: 'read', write: 'add to', manage: 'change' } as const satisfies Record<Right, string>;

/** Whether a change failed because of what is at its destination. */
const isInTheWay = (error: unknown): error is StoreError =>
  isStoreError(error, 'already-exists') || isStoreError(error, 'wrong-kind') || isStoreError(error, 'condition-failed');

/** The refusal of a new file, in the same words whatever has its name. */
function nameTaken(path: FilePath | FolderPath): StoreError {
  const message = `Something has the name of ${quoted(path)} or of one of its folders. Send another name.`;
  return new StoreError('condition-failed', message);
}

/** The files that would be in the way of a path: of the names of its folders. */
function filesInTheWay(path: FilePath | FolderPath): FilePath[] {
  const inTheWay: FilePath[] = [];
  for (let folder = isFolder(path) ? path : parentOf(path); folder !== ROOT; folder = parentOf(folder)) {
    inTheWay.push(childFile(parentOf(folder), nameOf(folder)));
  }
  return inTheWay;
}

/**
 * Whether there is something at a destination. A store may take it for what an interrupted copy left, if it is the same:
 * a user who can't read it could find out by trying what it is.
 */
async function isTaken(files: Files, to: FilePath | FolderPath): Promise<boolean> {
  try {
    return await isThere(isFolder(to) ? files.list(to, { limit: 1 }) : files.stat(to));
  } catch (error) {
    if (isStoreError(error, 'wrong-kind')) return true;
    throw error;
  }
}
