import { ifThere, isStoreError, quoted } from '../domain/error.ts';
import type { Files, UploadOptions } from '../domain/files.ts';
import { childFile, childFolder, type FilePath, type FolderPath, isFolder, parentOf, ROOT } from '../domain/path.ts';
import { existsAlready } from '../domain/problems.ts';
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

/**
 * The files as one asker may see and change them: every member decides first, by paths that are parsed already, and
 * throws `AccessDenied`. It is the only way from a request to the files, and so the one place where anything is allowed.
 * docs/access.md has the table of what needs which right.
 */
export function guardFiles(files: Files, { policy, who, confirm, record }: GuardOptions): Files {
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
  };
  /** For a file that would change how the store treats other files: its folder may be open to users who may not read those. */
  const needForContents = (action: string, path: FilePath | FolderPath) => {
    if (isFolder(path) || !files.isPrivileged(path) || policy().may(who, 'manage', ROOT)) return;
    refuse(action, path, 'write, without "manage" on the root, a file that changes how the store treats others:');
  };
  const needThroughout = (right: Right, action: string, folder: FolderPath) => {
    if (!policy().mayThroughout(who, right, folder)) refuse(action, folder, `${VERBS[right]} all of`);
  };

  /** Makes a change that was allowed, and writes down how it ended. */
  const change = async <Result>(
    action: string,
    { path, destination }: { path: string; destination?: string },
    make: () => Promise<Result>,
  ): Promise<Result> => {
    const about = { event: 'change', action, path, ...(destination !== undefined && { destination }) } as const;
    try {
      const result = await make();
      record({ ...about, outcome: 'done' });
      return result;
    } catch (error) {
      // The reason of a refusal was written down already; other messages may be about the inside of the service.
      if (!(error instanceof AccessDenied)) {
        record({ ...about, outcome: 'failed', ...(isStoreError(error) && { reason: error.message }) });
      }
      throw error;
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
    change('upload', { path: file }, async () => {
      try {
        return await store(mayReplace ? condition : 'absent');
      } catch (error) {
        const isThere = !mayReplace && condition === undefined && isStoreError(error, 'condition-failed');
        return isThere ? refuse('upload', file, 'replace') : Promise.reject(error);
      }
    });

  /** What is moved can be read where it comes to, even where its folder is closed to reading: so it takes that too. */
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
    else if (!policy().may(who, 'read', to)) await requireAbsent(files, to);
  };

  return {
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
      if (!policy().maySomewhere(who, 'write')) refuse('upload', undefined, 'upload');
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
      return change('create folder', { path: folder }, () => files.createFolder(folder, options));
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

/**
 * Throws where there is something at the destination, which a store may else take for what an interrupted copy left, if
 * it is the same: somebody who can't read there could find out by trying what it is.
 */
async function requireAbsent(files: Files, to: FilePath | FolderPath): Promise<void> {
  const found: unknown = await (isFolder(to) ? ifThere(files.list(to, { limit: 1 })) : ifThere(files.stat(to)));
  if (found !== undefined) throw existsAlready(to);
}
