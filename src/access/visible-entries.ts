import { Readable } from 'node:stream';
import { concurrently } from '../concurrency/concurrently.ts';
import type { Files } from '../files/files.ts';
import { isStoreError } from '../model/error.ts';
import { decodeCursor, encodeCursor } from '../model/page.ts';
import { comparePaths, type FolderPath } from '../model/path.ts';
import { type Cancellable, type Entry, type Listing, MAX_PAGE } from '../model/store.ts';
import type { Identity } from './identity.ts';
import type { Policy } from './policy.ts';

type ListOptions = { cursor?: string; limit?: number } & Cancellable;

/**
 * Returns a page of a folder with the entries that a user may see. With read permission, that is everything except
 * closed folders. Otherwise, it is only the folders that lead to a folder for which the user has permissions.
 */
export async function listVisible(
  files: Files,
  policy: Policy,
  who: Identity | undefined,
  folder: FolderPath,
  options: ListOptions = {},
): Promise<Listing> {
  if (!policy.may(who, 'read', folder)) return listWays(files, policy, who, folder, options);
  // No grant names a folder below: the permissions of this folder apply to all its entries.
  if (policy.namedBelow(who, folder).length === 0) return files.list(folder, options);
  const shows = ({ kind, path }: Entry) => kind === 'file' || policy.isVisible(who, path);
  let { cursor, limit } = options;
  for (;;) {
    const page = await files.list(folder, { ...options, cursor, limit });
    const last = page.entries.findLastIndex(shows);
    if (page.cursor === undefined || last === page.entries.length - 1) {
      return { ...page, entries: page.entries.filter(shows) };
    }
    // A cursor may name the last entry of its page, so the page ends with a visible entry.
    if (last === -1) cursor = page.cursor;
    else limit = last + 1;
  }
}

/** Maximum number of folders that are checked in parallel. */
const LOOKS = 8;

/**
 * Lists the folders that lead to a folder for which the user has permissions. There are only as many as grants name, so
 * cursors are the path of the last entry. Does not reveal whether the folder itself exists.
 */
async function listWays(
  files: Files,
  policy: Policy,
  who: Identity | undefined,
  folder: FolderPath,
  { cursor, limit = MAX_PAGE, signal }: ListOptions,
): Promise<Listing> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, folder).last;
  // Grants can spell one folder differently, but it is listed once.
  const named = new Map(
    policy
      .namedBelow(who, folder)
      .map((below) => childTowards(folder, below))
      .map((child) => [policy.names.certain(child), child]),
  );
  const ways = [...named.values()]
    .filter((child) => (after === undefined || comparePaths(child, after) > 0) && policy.isVisible(who, child))
    .toSorted(comparePaths);
  const page = ways.slice(0, limit);
  const there = new Set<FolderPath>();
  const look = async (child: FolderPath) => {
    if (await isThere(files, child, signal)) there.add(child);
  };
  await concurrently(Readable.from(page), LOOKS, look, signal);
  const last = page.at(-1);
  return {
    entries: page.filter((path) => there.has(path)).map((path) => ({ kind: 'folder', path })),
    ...(ways.length > page.length && last !== undefined && { cursor: encodeCursor({ last }) }),
  };
}

async function isThere(files: Files, folder: FolderPath, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await files.list(folder, { limit: 1, ...(signal && { signal }) });
    return true;
  } catch (error) {
    if (isStoreError(error, 'not-found') || isStoreError(error, 'wrong-kind')) return false;
    throw error;
  }
}

/** Returns the child of `folder` that contains `below`. */
function childTowards(folder: FolderPath, below: FolderPath): FolderPath {
  return below.slice(0, below.indexOf('/', folder.length) + 1) as FolderPath;
}
