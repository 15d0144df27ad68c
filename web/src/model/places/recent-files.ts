import { isFolderPath, isWithin, ROOT } from '../../platform/paths.ts';
import { listChanges } from '../../platform/service/change-pages.ts';
import type { FeedChange } from '../../platform/service/changes.ts';
import type { Service } from '../../platform/service/service.ts';
import { asServiceError, isAbort } from '../../platform/service/service-error.ts';
import { createItemList, type Item, type ItemList } from '../item-list.ts';
import type { StoredPath, StoredPaths } from './stored-paths.ts';

/** A file that the user opened, or that changed. */
export interface RecentFile extends Item {
  /** The path. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly activity: 'opened' | 'changed';
  /** Who changed it, if known. */
  readonly user?: string | undefined;
  readonly size?: number | undefined;
}

export type RecentList = ItemList<RecentFile>;

/** The maximum number of changes that are searched for files. */
const MAX_CHANGES = 1_000;

/** The maximum number of recent files. */
const MAX_FILES = 200;

/** Creates the list of the files that the user opened in this browser, and of those that any client changed. */
export function createRecentList(service: Pick<Service, 'send'>, visited: StoredPaths): RecentList {
  return createItemList(async ({ signal }) => ({
    items: await readRecentFiles(service, visited.items.peek(), signal),
  }));
}

/**
 * Returns the recent files, the newest first. Without a log of changes, and if the user may not read it, returns only those
 * that the user opened. Throws `ServiceError`, or the `AbortError` of the signal.
 */
export async function readRecentFiles(
  service: Pick<Service, 'send'>,
  visited: readonly StoredPath[],
  signal: AbortSignal,
): Promise<readonly RecentFile[]> {
  try {
    const { changes } = await listChanges(service, ROOT, { before: 'newest', limit: MAX_CHANGES, signal });
    return recentFilesOf(changes, visited);
  } catch (error) {
    if (isAbort(error) || (visited.length === 0 && !asServiceError(error).isPermissionDenied)) throw error;
    return recentFilesOf([], visited);
  }
}

/** Returns the recent files, the newest first. `changes` are the newest first, too. */
export function recentFilesOf(changes: readonly FeedChange[], visited: readonly StoredPath[]): readonly RecentFile[] {
  /** Moves and deletions, the newest first. */
  const removals: FeedChange[] = [];
  const files = new Map<string, RecentFile>();
  const add = (file: RecentFile) => {
    const known = files.get(file.id);
    if (!known || known.time < file.time) files.set(file.id, file);
  };
  for (const change of changes) {
    const { type, path, user, size } = change;
    const current = currentPath(path, removals);
    const isWritten = type.startsWith('file.') && type !== 'file.deleted';
    if (isWritten && current !== undefined) {
      add({ id: current, time: Date.parse(change.time), activity: 'changed', user, size });
    }
    if (isRemoval(change)) removals.push(change);
  }
  for (const { path, time } of visited) {
    if (isFolderPath(path)) continue;
    const later = removals.filter((removal) => Date.parse(removal.time) > time);
    const current = currentPath(path, later);
    if (current !== undefined) add({ id: current, time, activity: 'opened', size: files.get(current)?.size });
  }
  return [...files.values()].toSorted((left, right) => right.time - left.time).slice(0, MAX_FILES);
}

const isRemoval = ({ type }: FeedChange) => type.endsWith('.deleted') || type.endsWith('.moved');

/** Returns where a file is after later moves and deletions, the newest first; undefined if it was deleted. */
function currentPath(path: string, later: readonly FeedChange[]): string | undefined {
  let current = path;
  for (const { type, path: to, from } of later.toReversed()) {
    if (type.endsWith('.deleted')) {
      if (isWithin(current, to)) return undefined;
    } else if (from !== undefined && isWithin(current, from)) current = to + current.slice(from.length);
  }
  return current;
}
