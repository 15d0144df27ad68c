import type { ChangeLog, ChangeScope, StoredChange } from '../changes/log.ts';
import type { ChangeType } from '../model/change.ts';
import { type FilePath, type FolderPath, isFolder, isWithin, parentOf, ROOT } from '../model/path.ts';

type Path = FilePath | FolderPath;

/** What the change log says about the files of a change since then. */
export interface Aftermath {
  /**
   * The changes to reverse, the oldest first: the change itself, or all steps of the undo that it belongs to. Undoing a
   * change can take two steps, and undoing any of them undoes both.
   */
  readonly targets: readonly StoredChange[];
  /** The steps of their undo that are already done, the oldest first. */
  readonly done: readonly StoredChange[];
  /** The newest change that does not allow to reverse one of the targets. */
  readonly obstacle: StoredChange | undefined;
  /** Returns the last recorded change of a file since the targets; undefined without one. */
  lastChangeOf(file: FilePath): StoredChange | undefined;
}

/**
 * Reads what came after a change. A change that was undone and the change that undid it cancel each other out, also if they
 * were redone and undone again.
 */
export async function readAftermath(log: ChangeLog, change: StoredChange): Promise<Aftermath> {
  const start = change.undoes ?? change.sequence;
  const read = (changes: readonly StoredChange[]) => Array.fromAsync(log.readBack(start, scopeOf(changes)));
  const found = await read([change]);
  const targets = findTargets(change, found);
  // The other steps of an undo can affect other paths.
  const rows = targets.length > 1 ? await read(targets) : found;
  const cancelled = findCancelled(rows);
  const sequences = new Set(targets.map(({ sequence }) => sequence));
  const done = rows.filter((row) => !cancelled.has(row) && row.undoes !== undefined && sequences.has(row.undoes));
  const isNeutral = (row: StoredChange) =>
    cancelled.has(row) || sequences.has(row.sequence) || (row.undoes !== undefined && row.undoes > start);
  const obstacle = rows.find(
    (row) => !isNeutral(row) && !done.includes(row) && targets.some((target) => forbidsUndo(row, target)),
  );
  return {
    targets,
    done: done.toReversed(),
    obstacle,
    lastChangeOf: (file) => rows.find(({ path }) => path === file),
  };
}

function scopeOf(changes: readonly StoredChange[]): ChangeScope {
  const paths = new Set(changes.flatMap(pathsOf));
  const includesContent = changes.some(({ type, path }) => isFolder(path) && !isMove(type));
  return { paths: [...paths, ...ancestorsOf(paths)], contentOf: includesContent ? [...paths].filter(isFolder) : [] };
}

/** Returns the paths that a change affects. A copy leaves its source as it is. */
function pathsOf({ type, path, from }: StoredChange): readonly Path[] {
  return isMove(type) && from !== undefined ? [path, from] : [path];
}

const isMove = (type: ChangeType) => type === 'file.moved' || type === 'folder.moved';

/** Returns the changes that were undone, of changes in descending order. */
function findCancelled(rows: readonly StoredChange[]): ReadonlySet<StoredChange> {
  const cancelled = new Set<StoredChange>();
  const undone = new Set<number>();
  /** Changes that were redone: all their earlier undos are undone, with each of their steps. */
  const redone = new Set<number>();
  for (const row of rows) {
    const { sequence, undoes } = row;
    if (undone.has(sequence) || (undoes !== undefined && redone.has(undoes))) {
      cancelled.add(row);
      if (undoes !== undefined) redone.add(undoes);
    } else if (undoes !== undefined) {
      undone.add(undoes);
    }
  }
  return cancelled;
}

/** Returns the steps of the undo that a change belongs to; the change itself if it undoes nothing. */
function findTargets(change: StoredChange, rows: readonly StoredChange[]): readonly StoredChange[] {
  if (change.undoes === undefined) return [change];
  const siblings = new Set([change.sequence]);
  let steps: StoredChange[] = [];
  for (const row of rows.toReversed()) {
    if (row.undoes === change.undoes) {
      steps.push(row);
      siblings.add(row.sequence);
    } else if (row.undoes !== undefined && siblings.has(row.undoes)) {
      // A redo ends the steps of an undo. The next ones belong to another undo.
      if (steps.some(({ sequence }) => sequence === change.sequence)) break;
      steps = [];
    }
  }
  return steps.some(({ sequence }) => sequence === change.sequence) ? steps : [change];
}

/** The types of changes after which a path has another item, or none. */
const ENDS_ITEM: ReadonlySet<ChangeType> = new Set<ChangeType>([
  'file.created',
  'file.copied',
  'file.moved',
  'file.deleted',
  'file.restored',
  'folder.copied',
  'folder.moved',
  'folder.deleted',
  'folder.restored',
]);

/** The types of changes that need no particular state: undoing them only adds what is missing, or removes what is empty. */
const INDEPENDENT: ReadonlySet<ChangeType> = new Set<ChangeType>(['file.deleted', 'folder.deleted', 'folder.created']);

/** Returns whether a later change does not allow to reverse `target`. */
function forbidsUndo(later: StoredChange, target: StoredChange): boolean {
  if (later.sequence <= target.sequence || INDEPENDENT.has(target.type)) return false;
  return pathsOf(later).some((path) => {
    if (path === target.path) return isMove(target.type) ? ENDS_ITEM.has(later.type) : later.type !== 'folder.created';
    if (isFolder(path) && path !== ROOT && isWithin(target.path, path)) return ENDS_ITEM.has(later.type);
    return !isMove(target.type) && isFolder(target.path) && isWithin(path, target.path);
  });
}

/** Returns the folders that contain any of the paths, without the root. */
function ancestorsOf(paths: Iterable<Path>): readonly FolderPath[] {
  const ancestors = new Set<FolderPath>();
  for (const path of paths) {
    for (let folder = parentOf(path); folder !== ROOT; folder = parentOf(folder)) ancestors.add(folder);
  }
  return [...ancestors];
}
