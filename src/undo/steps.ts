import type { GuardedFiles } from '../access/guard.ts';
import type { StoredChange } from '../changes/log.ts';
import { StoreError, undefinedIfNotFound } from '../model/error.ts';
import { haveSameRoot, identifyItem } from '../model/item-identity.ts';
import type { KeptId } from '../model/kept-ids.ts';
import { type FilePath, type FolderPath, folderNamed, isFolder } from '../model/path.ts';
import type { Cancellable, Reporting, Store } from '../model/store.ts';
import type { Aftermath } from './aftermath.ts';

type Path = FilePath | FolderPath;

/** What a step can use. */
export interface StepContext {
  readonly files: GuardedFiles;
  readonly options: Reporting & Cancellable;
  readonly aftermath: Aftermath;
  readonly identify: Store['identify'];
}

/** One operation that reverses a change, or a part of it. It changes nothing if the files are not as the change left them. */
export interface Step {
  /** Throws if the step is impossible now. Does not check what an earlier step changes. */
  check(context: StepContext): Promise<unknown>;
  run(context: StepContext): Promise<unknown>;
}

/** Returns the steps that reverse changes. The changes are one change, or all steps of one undo, the oldest first. */
export function stepsFor(targets: readonly StoredChange[]): readonly Step[] {
  const [first, second] = targets;
  // The undo of a move that had replaced something: one move that replaces it again keeps it again.
  const isUndoneMove = first?.from !== undefined && second?.path === first.from;
  if (isUndoneMove) return [moveOver(first, second)];
  return targets.toReversed().flatMap(stepsForOne);
}

function stepsForOne(change: StoredChange): readonly Step[] {
  const { type, path, from, kept, undoes } = change;
  switch (type) {
    case 'file.created':
    case 'file.restored':
      return [deleteFile(change)];
    case 'file.replaced':
    case 'file.written':
      return [restoreVersion(change, requireKept(kept), 'unchanged')];
    case 'file.copied':
      if (kept === undefined) return [deleteFile(change)];
      return [restoreVersion(change, requireKept(kept), 'unchanged')];
    case 'file.moved':
      if (kept === undefined) return [move(change, requireSource(from))];
      return [move(change, requireSource(from)), restoreVersion(change, requireKept(kept), 'absent')];
    case 'folder.moved':
      if (kept === undefined) return [move(change, requireSource(from))];
      return [move(change, requireSource(from)), restoreTrashed(change, requireKept(kept))];
    case 'folder.created':
      return [deleteEmptyFolder(path as FolderPath)];
    case 'folder.copied':
      if (kept === undefined) return [trashFolder(change)];
      return [trashFolder(change), restoreTrashed(change, requireKept(kept))];
    case 'folder.restored':
      return [trashFolder(change)];
    case 'file.deleted':
      return [restoreTrashed(change, requireKept(kept, DELETED_PERMANENTLY))];
    case 'folder.deleted':
      // The undo of a new folder deletes it only if it is empty, so that nothing had to be kept.
      if (kept === undefined && undoes !== undefined) return [createFolder(path as FolderPath)];
      return [restoreTrashed(change, requireKept(kept, DELETED_PERMANENTLY))];
    case 'file.touched':
      throw notUndoable('It set only the modification time.');
    case 'folder.changed':
    case 'resync':
      throw notUndoable('It can be any change, because an operation failed halfway or another program made it.');
  }
}

const DELETED_PERMANENTLY = 'It was deleted permanently.';

function requireKept(kept: KeptId | null | undefined, reason = 'The previous content was not kept.'): KeptId {
  if (kept) return kept;
  throw notUndoable(reason);
}

function requireSource(from: Path | undefined): Path {
  if (from !== undefined) return from;
  throw new Error('A move in the change log lacks its source.');
}

/** A step that is the first one, so that it checks everything before its change. */
const single = (run: Step['run']): Step => ({ check: async () => {}, run });

const deleteFile = (change: StoredChange): Step =>
  single(async (context) => {
    await requireSameItem(change, context);
    const ifMatch = await etagOf(change, context);
    await context.files.deleteFile(change.path as FilePath, { ...context.options, ifMatch });
  });

/**
 * Throws if another program put another item at the path of a change, or if the change log lacks what did. A file that was
 * written since it was moved has another identity, but its ETag is in the log.
 */
async function requireSameItem(change: StoredChange, context: StepContext): Promise<void> {
  const { files, options, aftermath, identify } = context;
  const { path } = change;
  const identity = aftermath.identityOf(change);
  const etag = aftermath.etagOf(change);
  if (identity !== undefined) {
    const found = await identifyItem(identify, path);
    if (found !== undefined && found !== identity && haveSameRoot(found, identity))
      throw changedSince(isFolder(path) ? 'folder' : 'file');
  } else if (change.identity !== undefined && etag !== undefined && !isFolder(path)) {
    if ((await files.stat(path, options)).etag !== etag) throw changedSince('file');
  }
}

/** Returns the ETag that the file of a change must have. */
async function etagOf(change: StoredChange, { files, options, aftermath }: StepContext): Promise<string> {
  return aftermath.etagOf(change) ?? (await files.stat(change.path as FilePath, options)).etag;
}

/** `expected`: whether the file must be as the log describes it, or must not exist. */
function restoreVersion(change: StoredChange, id: KeptId, expected: 'unchanged' | 'absent'): Step {
  const path = change.path as FilePath;
  return {
    async check({ files, options }) {
      await files.requireWrite(path);
      const version = await undefinedIfNotFound(files.statVersion(path, id, options));
      if (!version)
        throw notUndoable('The previous content is no longer a version of the file: it was deleted, or has expired.');
    },
    async run(context) {
      if (expected === 'unchanged') await requireSameItem(change, context);
      const condition = expected === 'absent' ? expected : { etag: await etagOf(change, context) };
      return context.files.restoreVersion(path, id, { ...context.options, condition });
    },
  };
}

const move = (change: StoredChange, to: Path, { replace } = { replace: false }): Step =>
  single(async (context) => {
    await requireSameItem(change, context);
    const { path } = change;
    const { files, options, aftermath } = context;
    // The step might have been done, but not recorded. A move that replaces something must record what it kept.
    const movedIdentity = replace ? undefined : aftermath.identityOf(change);
    const replaceEmpty = replace ? undefined : aftermath.leftoversIn(folderNamed(to));
    const moving = { ...options, replace, replaceEmpty, movedIdentity };
    return isFolder(path)
      ? files.moveFolder(path, to as FolderPath, moving)
      : files.moveFile(path, to as FilePath, moving);
  });

/** Redoes a move that replaces what `restored`, the second step of its undo, has restored. */
function moveOver(change: StoredChange, restored: StoredChange): Step {
  const { check, run } = move(change, restored.path, { replace: true });
  return {
    check,
    async run(context) {
      await requireUnchanged(restored, context);
      await run(context);
    },
  };
}

/** Throws if another program has changed the item at the path of a change, unless it has removed the item. */
async function requireUnchanged(change: StoredChange, context: StepContext): Promise<void> {
  await requireSameItem(change, context);
  const { files, options, aftermath } = context;
  const { path } = change;
  const etag = aftermath.etagOf(change);
  if (isFolder(path) || etag === undefined) return;
  const file = await undefinedIfNotFound(files.stat(path, options));
  if (file && file.etag !== etag) throw changedSince('file');
}

const trashFolder = (change: StoredChange): Step =>
  single(async (context) => {
    await requireSameItem(change, context);
    await context.files.deleteFolder(change.path as FolderPath, { ...context.options, onlyToTrash: true });
  });

const deleteEmptyFolder = (path: FolderPath): Step =>
  single(({ files, options, aftermath }) =>
    files.deleteFolder(path, { ...options, onlyEmpty: true, withEmptyFolders: aftermath.leftoversIn(path) }),
  );

const createFolder = (path: FolderPath): Step => single(({ files, options }) => files.createFolder(path, options));

function restoreTrashed(change: StoredChange, original: KeptId): Step {
  const { path } = change;
  const idIn = ({ aftermath }: StepContext) => aftermath.idInTrashOf(change) ?? original;
  return {
    async check(context) {
      const { files, options } = context;
      const item = await undefinedIfNotFound(files.findTrashed(idIn(context), options));
      if (!item) throw notUndoable('It is no longer in the trash: it was restored or deleted permanently.');
      await files.requireOperation({ action: 'restore', id: item.id, from: item.path, to: path, rename: false });
    },
    run(context) {
      const replaceEmpty = context.aftermath.leftoversIn(folderNamed(path));
      return context.files.restoreTrashed(idIn(context), { ...context.options, to: path, replaceEmpty });
    },
  };
}

/** Returns the error for a change after which another item has its path, or the file has other content. */
export const changedSince = (kind: 'file' | 'folder', cause?: unknown): StoreError =>
  notUndoable(`The ${kind} has changed since.`, cause);

/** Returns the error for a change that can't be undone. `reason` is a sentence. */
export function notUndoable(reason: string, cause?: unknown): StoreError {
  return new StoreError('not-undoable', `The change can't be undone. ${reason}`, { cause });
}
