import { Readable } from 'node:stream';
import { concurrently } from '../domain/concurrently.ts';
import { readCursor, writeCursor } from '../domain/cursor.ts';
import { isStoreError } from '../domain/error.ts';
import type { Files } from '../domain/files.ts';
import { MAX_PAGE } from '../domain/page-size.ts';
import { comparePaths, type FolderPath } from '../domain/path.ts';
import type { Cancellable, Entry, Listing } from '../domain/store.ts';
import type { Identity } from './identity.ts';
import type { Policy } from './policy.ts';

type ListOptions = { cursor?: string; limit?: number } & Cancellable;

/**
 * A page of a folder with what shows of it to somebody: all of it but the folders that are closed to them where they
 * may read, else only the folders through which they come to what they may do.
 */
export async function listVisible(
  files: Files,
  policy: Policy,
  who: Identity | undefined,
  folder: FolderPath,
  options: ListOptions = {},
): Promise<Listing> {
  if (!policy.may(who, 'read', folder)) return listWays(files, policy, who, folder, options);
  // Below a folder that no grant names, all is as it is there.
  if (policy.namedBelow(who, folder).length === 0) return files.list(folder, options);
  const shows = ({ kind, path }: Entry) => kind === 'file' || policy.isVisible(who, path);
  let { cursor, limit } = options;
  for (;;) {
    const page = await files.list(folder, { ...options, cursor, limit });
    const last = page.entries.findLastIndex(shows);
    if (page.cursor === undefined || last === page.entries.length - 1) {
      return { ...page, entries: page.entries.filter(shows) };
    }
    // A cursor may name the last entry of its page, and so the page ends with one that shows.
    if (last === -1) cursor = page.cursor;
    else limit = last + 1;
  }
}

/** How many folders are looked for at once. */
const LOOKS = 8;

/**
 * The folders through which somebody comes to what they may do. Pages are by the path of their last entry: there are
 * only as many as grants name. Whether the folder itself is there is not told.
 */
async function listWays(
  files: Files,
  policy: Policy,
  who: Identity | undefined,
  folder: FolderPath,
  { cursor, limit = MAX_PAGE, signal }: ListOptions,
): Promise<Listing> {
  const after = cursor === undefined ? undefined : readCursor(cursor, folder).last;
  // Grants may spell one folder differently: it is listed once.
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
    ...(ways.length > page.length && last !== undefined && { cursor: writeCursor({ last }) }),
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

/** The folder in `folder` through which one comes to `below`. */
function childTowards(folder: FolderPath, below: FolderPath): FolderPath {
  return below.slice(0, below.indexOf('/', folder.length) + 1) as FolderPath;
}
