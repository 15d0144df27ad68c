import type { ChangeLog, ChangeScope, StoredChange } from '../changes/log.ts';
import type { FolderFilter } from '../files/empty-trees.ts';
import type { ChangeType } from '../model/change.ts';
import type { KeptId } from '../model/kept-ids.ts';
import {
  type FilePath,
  type FolderPath,
  folderNamed,
  foldersOf,
  isFolder,
  isWithin,
  parentOf,
  ROOT,
} from '../model/path.ts';
import { isMove, rebased, Trail } from './trail.ts';

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
  /** Returns the last ETag in the log of the file of a target; undefined if the log does not have it. */
  etagOf(target: StoredChange): string | undefined;
  /** Returns the identity of the file or folder of a target; undefined if the log does not have it. */
  identityOf(target: StoredChange): string | undefined;
  /** Returns the ID of what a target moved to the trash; undefined if it is no longer there. It changes if the item was restored and deleted again. */
  idInTrashOf(target: StoredChange): KeptId | undefined;
  /**
   * Returns which folders in a folder can be left over from changes that were reversed: changes since the targets affected
   * something in them. Another program created any other folder. Returns undefined if users created a folder there since.
   */
  leftoversIn(folder: FolderPath): FolderFilter | undefined;
}

/** A target with the trails of what it left at its path, and of what it deleted or replaced. */
interface FollowedTarget {
  readonly target: StoredChange;
  readonly current: Trail;
  readonly putAway: Trail;
}

/**
 * Reads what came after a change. A change that was undone and the change that undid it cancel each other out, also if they
 * were redone and undone again.
 */
export async function readAftermath(log: ChangeLog, change: StoredChange): Promise<Aftermath> {
  const start = change.undoes ?? change.sequence;
  let scope = scopeOf([change]);
  for (;;) {
    const rows = await Array.fromAsync(log.readBack(start, scope));
    const targets = findTargets(change, rows);
    const aftermath = follow(targets, rows);
    // The other steps of an undo can affect other paths, and later changes can move the files to other paths.
    const needed = scopeOf(targets, aftermath.followed, rows);
    if (isIncluded(needed, scope)) return aftermath;
    scope = needed;
  }
}

/** `rows`: the changes of the files since the oldest target, the newest first. */
function follow(targets: readonly StoredChange[], rows: readonly StoredChange[]) {
  const cancelled = findCancelled(rows);
  const sequences = new Set(targets.map(({ sequence }) => sequence));
  const oldest = Math.min(...sequences);
  const done = rows.filter((row) => !cancelled.has(row) && row.undoes !== undefined && sequences.has(row.undoes));
  const isNeutral = (row: StoredChange) =>
    cancelled.has(row) ||
    done.includes(row) ||
    sequences.has(row.sequence) ||
    (row.undoes !== undefined && row.undoes > oldest);
  let obstacle: StoredChange | undefined;
  const followed = targets.map((target): FollowedTarget => {
    const current = Trail.afterChange(target);
    const putAway = Trail.ofPutAway(target);
    for (const row of rows.toReversed()) {
      if (row.sequence <= target.sequence) continue;
      const forbids = forbidsUndo(row, target, current.path) || (needsTrash(target) && putAway.isRestoredBy(row));
      if (forbids && !isNeutral(row) && row.sequence > (obstacle?.sequence ?? 0)) obstacle = row;
      current.follow(row);
      putAway.follow(row);
    }
    return { target, current, putAway };
  });
  const find = (target: StoredChange) => followed.find((each) => each.target === target);
  return {
    targets,
    done: done.toReversed(),
    obstacle,
    followed,
    etagOf: (target: StoredChange) => find(target)?.current.etag,
    identityOf: (target: StoredChange) => find(target)?.current.identity,
    idInTrashOf: (target: StoredChange) => find(target)?.putAway.idInTrash,
    leftoversIn(folder: FolderPath) {
      const isNew = ({ type, path }: StoredChange) => type === 'folder.created' && isWithin(path, folder);
      // The rows of a redone change begin with the undo that it reverses.
      const since = rows.filter(({ sequence }) => sequence > oldest);
      if (since.some((row) => isNew(row) && !isNeutral(row))) return undefined;
      const leftovers = foldersAffectedBy(since);
      return (each: FolderPath) => leftovers.has(each);
    },
  };
}

/**
 * Returns the folders in which changes of users affected something, at their current paths. `rows`: the changes, the newest first.
 */
function foldersAffectedBy(rows: readonly StoredChange[]): ReadonlySet<FolderPath> {
  const affected = new Set<FolderPath>();
  for (const { type, path, from, isExternal } of rows.toReversed()) {
    if (isExternal) continue;
    // A folder moves with the folder that contains it. All copies are deleted when a copy of a folder is reversed.
    for (const folder of type === 'folder.moved' ? [...affected] : []) {
      const moved = rebased(folder, from ?? path, path);
      if (moved === undefined || !isFolder(moved)) continue;
      affected.delete(folder);
      affected.add(moved);
    }
    for (const folder of ancestorsOf([path, from ?? path])) affected.add(folder);
  }
  return affected;
}

/** Returns whether undoing a change restores an item of the trash. */
function needsTrash({ type, kept }: StoredChange): boolean {
  return (
    type === 'file.deleted' || (typeof kept === 'string' && type.startsWith('folder.') && type !== 'folder.restored')
  );
}

function scopeOf(
  targets: readonly StoredChange[],
  followed: readonly FollowedTarget[] = [],
  rows: readonly StoredChange[] = [],
): ChangeScope {
  const trails = followed.flatMap(({ current, putAway }) => [current, putAway]);
  const paths = new Set([...targets.flatMap(pathsOf), ...trails.flatMap((trail) => [...trail.paths])]);
  // The second step of an undone move restores what the move had replaced, at the source of the first step.
  for (const { type, from, undoes } of rows) if (isMove(type) && from && undoes !== undefined) paths.add(from);
  const includesContent = targets.some(({ type, path }) => isFolder(path) && !isMove(type));
  const contentOf = new Set(includesContent ? [...paths].filter(isFolder) : []);
  for (const folder of targets.flatMap(foldersInTheWay)) contentOf.add(folder);
  const kept = new Set(trails.flatMap((trail) => [...trail.keptIds]));
  return { paths: [...paths, ...ancestorsOf(paths)], contentOf: [...contentOf], kept: [...kept] };
}

function isIncluded(needed: ChangeScope, read: ChangeScope): boolean {
  const includes = (all: readonly string[], some: readonly string[]) => some.every((each) => all.includes(each));
  return (
    includes(read.paths, needed.paths) &&
    includes(read.contentOf, needed.contentOf) &&
    includes(read.kept ?? [], needed.kept ?? [])
  );
}

/** Returns the folders that a reversed upload can have left where undoing a change needs a free name. */
function foldersInTheWay({ type, path, from }: StoredChange): readonly FolderPath[] {
  const arrival = isMove(type) ? from : path;
  const isArrival = isMove(type) || type === 'file.deleted' || type === 'folder.deleted';
  return isArrival && arrival !== undefined ? [folderNamed(arrival)] : [];
}

/** Returns the paths that a change affects. A copy leaves its source unchanged. */
function pathsOf({ type, path, from }: StoredChange): readonly Path[] {
  return isMove(type) && from !== undefined ? [path, from] : [path];
}

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

/** Returns whether a later change does not allow to reverse `target`, whose file or folder was at `current` before it. */
function forbidsUndo(later: StoredChange, target: StoredChange, current: Path): boolean {
  if (INDEPENDENT.has(target.type) || later.type === 'file.touched') return false;
  return pathsOf(later).some((path) => {
    if (path === current) return isMove(target.type) ? ENDS_ITEM.has(later.type) : later.type !== 'folder.created';
    if (isFolder(path) && path !== ROOT && isWithin(current, path)) return ENDS_ITEM.has(later.type);
    return !isMove(target.type) && isFolder(current) && isWithin(path, current);
  });
}

/** Returns the folders that contain any of the paths, without the root. */
function ancestorsOf(paths: Iterable<Path>): readonly FolderPath[] {
  const ancestors = new Set<FolderPath>();
  for (const path of paths) {
    for (const folder of foldersOf(parentOf(path))) ancestors.add(folder);
  }
  return [...ancestors];
}
