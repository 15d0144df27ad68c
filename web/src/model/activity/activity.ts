import { isFolderPath, isWithin } from '../../platform/paths.ts';
import { listChanges } from '../../platform/service/change-pages.ts';
import type { FeedChange } from '../../platform/service/changes.ts';
import type { Service } from '../../platform/service/service.ts';

/** What happened to a file, or to a folder and everything in it. */
export interface Activity {
  /** The newest first. */
  readonly changes: readonly FeedChange[];
  /** Whether there can be earlier ones. */
  readonly hasMore: boolean;
}

/** The maximum number of changes in a page of the HTTP API. */
const MAX_PAGE = 1_000;

/** The maximum number of requests for the changes of one path. Each searches up to 10,000 changes of all paths. */
const MAX_REQUESTS = 10;

/**
 * Returns at least the last `count` changes of a path, if there are as many. Before a rename or a move, these are the changes
 * of the previous path. Throws `ServiceError`, or the `AbortError` of the signal.
 */
export async function readActivity(
  service: Pick<Service, 'send'>,
  path: string,
  { count, signal }: { readonly count: number; readonly signal: AbortSignal },
): Promise<Activity> {
  const changes: FeedChange[] = [];
  let position = { path, before: 'newest' };
  let hasMore = true;
  for (let requests = 0; hasMore && changes.length < count && requests < MAX_REQUESTS; requests++) {
    const { before } = position;
    const page = await listChanges(service, position.path, { before, limit: Math.min(count, MAX_PAGE), signal });
    position = { ...position, before: page.cursor };
    hasMore = page.hasMore;
    for (const change of page.changes) {
      if (isActivityOf(position.path, change)) changes.push(change);
      const earlier = pathBefore(change, position.path);
      if (earlier === undefined) continue;
      position = { path: earlier, before: change.id };
      hasMore = true;
      break;
    }
  }
  return { changes, hasMore };
}

/** Returns whether a change is part of the activity of a path: it affects the path, anything in it, or what contains it. */
export function isActivityOf(path: string, { type, path: changed, from }: FeedChange): boolean {
  if (type === 'resync' || isWithin(changed, path) || (from !== undefined && isWithin(from, path))) return true;
  // The folders that contain a path are created before it, and `folder.changed` does not tell what has changed.
  if (type === 'folder.created' || type === 'folder.changed') return false;
  return isWithin(path, changed) || (from !== undefined && isWithin(path, from));
}

/** Returns the path that a move gave another name; undefined if the change did not move it. */
function pathBefore({ type, path: moved, from }: FeedChange, path: string): string | undefined {
  const isMove = type === 'file.moved' || type === 'folder.moved';
  if (!isMove || from === undefined || !isWithin(path, moved) || isFolderPath(from) !== isFolderPath(moved)) {
    return undefined;
  }
  return from + path.slice(moved.length);
}
