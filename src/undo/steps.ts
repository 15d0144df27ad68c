import type { StoredChange } from '../changes/log.ts';
import type { Files } from '../files/files.ts';
import { StoreError, undefinedIfNotFound } from '../model/error.ts';
import type { KeptId } from '../model/kept-ids.ts';
import { type FilePath, type FolderPath, isFolder } from '../model/path.ts';
import type { Cancellable, Reporting } from '../model/store.ts';

type Path = FilePath | FolderPath;

/** What a step can use. */
export interface StepContext {
  readonly files: Files;
  readonly options: Reporting & Cancellable;
  /** Returns the last ETag of a file that the log has; undefined if it has none. */
  etagOf(file: FilePath): string | undefined;
}

/** One operation that reverses a change, or a part of it. It changes nothing if the files are not as the change left them. */
export type Step = (context: StepContext) => Promise<unknown>;

/** Returns the steps that reverse changes. The changes are one change, or all steps of one undo, the oldest first. */
export function stepsFor(targets: readonly StoredChange[]): readonly Step[] {
  const [first, second] = targets;
  // The undo of a move that had replaced something: one move that replaces it again keeps it again.
  const isUndoneMove = first?.from !== undefined && second?.path === first.from;
  if (isUndoneMove) return [move(first.path, first.from, { replace: true })];
  return targets.toReversed().flatMap(stepsForOne);
}

function stepsForOne(change: StoredChange): readonly Step[] {
  const { type, path, from, kept, undoes } = change;
  switch (type) {
    case 'file.created':
      return [deleteFile(path as FilePath)];
    case 'file.replaced':
    case 'file.written':
      return [restoreVersion(path as FilePath, requireKept(kept), 'unchanged')];
    case 'file.copied':
    case 'file.restored':
      if (kept === undefined) return [deleteFile(path as FilePath)];
      return [restoreVersion(path as FilePath, requireKept(kept), 'unchanged')];
    case 'file.moved':
      if (kept === undefined) return [move(path, requireSource(from))];
      return [move(path, requireSource(from)), restoreVersion(path as FilePath, requireKept(kept), 'absent')];
    case 'folder.moved':
      if (kept === undefined) return [move(path, requireSource(from))];
      return [move(path, requireSource(from)), restoreTrashed(path, requireKept(kept))];
    case 'folder.created':
      return [({ files, options }) => files.deleteFolder(path as FolderPath, { ...options, onlyEmpty: true })];
    case 'folder.copied':
    case 'folder.restored':
      if (kept === undefined) return [trashFolder(path as FolderPath)];
      return [trashFolder(path as FolderPath), restoreTrashed(path, requireKept(kept))];
    case 'file.deleted':
      return [restoreTrashed(path, requireKept(kept, DELETED_PERMANENTLY))];
    case 'folder.deleted':
      // The undo of a new folder deletes it only if it is empty, so that nothing had to be kept.
      if (kept === undefined && undoes !== undefined) {
        return [({ files, options }) => files.createFolder(path as FolderPath, options)];
      }
      return [restoreTrashed(path, requireKept(kept, DELETED_PERMANENTLY))];
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

const deleteFile =
  (path: FilePath): Step =>
  async ({ files, options, etagOf }) => {
    const ifMatch = etagOf(path) ?? (await files.stat(path, options)).etag;
    await files.deleteFile(path, { ...options, ifMatch });
  };

/** `expected`: whether the file must be as the log describes it, or must not exist. */
const restoreVersion =
  (path: FilePath, id: KeptId, expected: 'unchanged' | 'absent'): Step =>
  async ({ files, options, etagOf }) => {
    if (expected === 'absent') return files.restoreVersion(path, id, { ...options, condition: 'absent' });
    const etag = etagOf(path) ?? (await files.stat(path, options)).etag;
    return files.restoreVersion(path, id, { ...options, condition: { etag } });
  };

const move =
  (path: Path, to: Path, { replace } = { replace: false }): Step =>
  ({ files, options }) =>
    isFolder(path)
      ? files.moveFolder(path, to as FolderPath, { ...options, replace })
      : files.moveFile(path, to as FilePath, { ...options, replace });

const trashFolder =
  (path: FolderPath): Step =>
  ({ files, options }) =>
    files.deleteFolder(path, { ...options, onlyToTrash: true });

const restoreTrashed =
  (path: Path, id: KeptId): Step =>
  async ({ files, options }) => {
    const item = await undefinedIfNotFound(files.findTrashed(id, options));
    if (!item) throw notUndoable('It is no longer in the trash: it was restored or deleted permanently.');
    await files.restoreTrashed(id, { ...options, to: path });
  };

/** Returns the error for a change that can't be undone. `reason` is a sentence. */
export function notUndoable(reason: string, cause?: unknown): StoreError {
  return new StoreError('not-undoable', `The change can't be undone. ${reason}`, { cause });
}
