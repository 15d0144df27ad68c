import { Readable } from 'node:stream';
import { concurrently } from '../concurrency/concurrently.ts';
import type { Files } from '../files/files.ts';
import { isStoreError } from '../model/error.ts';
import { decodeCursor, encodeCursor } from '../model/page.ts';
import { comparePaths, type FilePath, type FolderPath, isFolder } from '../model/path.ts';
import { type Cancellable, type Entry, type Listing, type ListOptions, MAX_PAGE } from '../model/store.ts';
import type { Identity, Policy } from './policy.ts';

/** Who lists a folder. */
interface Viewer {
  readonly policy: Policy;
  readonly user: Identity | undefined;
  /** Returns whether listings omit a file or folder. */
  readonly isHidden: ((path: FilePath | FolderPath) => boolean) | undefined;
}

/**
 * Returns a page of a folder with the entries that a user may see. With read permission, that is everything except
 * closed folders. Otherwise, it is only the folders that lead to a folder for which the user has permissions.
 */
export async function listVisible(
  files: Files,
  { policy, user, isHidden }: Viewer,
  folder: FolderPath,
  options: ListOptions = {},
): Promise<Listing> {
  if (!policy.allows(user, 'read', folder)) return listAncestorFolders(files, policy, user, folder, options);
  // Without grants for a folder below, the permissions of this folder apply to all its entries.
  const areAllVisible = policy.grantFoldersBelow(user, folder).length === 0;
  if (areAllVisible && !isHidden) return files.list(folder, options);
  const isShown = ({ kind, path }: Entry) =>
    !isHidden?.(path) && (areAllVisible || kind === 'file' || policy.isVisible(user, path));
  let { cursor, limit } = options;
  for (;;) {
    const page = await files.list(folder, { ...options, cursor, limit });
    const last = page.entries.findLastIndex(isShown);
    if (page.cursor === undefined || last === page.entries.length - 1) {
      return { ...page, entries: page.entries.filter(isShown) };
    }
    // A cursor might name the last entry of its page, so the page ends with a visible entry.
    if (last === -1) cursor = page.cursor;
    else limit = last + 1;
  }
}

/** Maximum number of folders that are checked in parallel. */
const MAX_PARALLEL_CHECKS = 8;

/**
 * Lists the folders that lead to a folder for which the user has permissions. There are only as many as grants name, so
 * cursors are the path of the last entry. Does not reveal whether the folder itself exists.
 */
async function listAncestorFolders(
  files: Files,
  policy: Policy,
  user: Identity | undefined,
  folder: FolderPath,
  { cursor, limit = MAX_PAGE, signal }: ListOptions,
): Promise<Listing> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, folder).last;
  // Grants can spell one folder differently, but it is listed once.
  const named = new Map(
    policy
      .grantFoldersBelow(user, folder)
      .map((below) => childContaining(folder, below))
      .map((child) => [policy.names.certain(child), child]),
  );
  const visible = [...named.values()]
    .filter((child) => (after === undefined || comparePaths(child, after) > 0) && policy.isVisible(user, child))
    .toSorted(comparePaths);
  const page = visible.slice(0, limit);
  const existing = new Set<FolderPath>();
  const check = async (child: FolderPath) => {
    if (await files.folderExists(child, { signal })) existing.add(child);
  };
  await concurrently(Readable.from(page), MAX_PARALLEL_CHECKS, check, signal);
  const last = page.at(-1);
  return {
    entries: page.filter((path) => existing.has(path)).map((path) => ({ kind: 'folder', path })),
    ...(visible.length > page.length && last !== undefined && { cursor: encodeCursor({ last }) }),
  };
}

/** Returns the entries of the paths that exist, in the order of the paths. */
export async function findEntries(
  files: Files,
  paths: readonly (FilePath | FolderPath)[],
  { signal }: Cancellable,
): Promise<Entry[]> {
  const found = new Map<string, Entry>();
  const find = async (path: FilePath | FolderPath) => {
    const entry = isFolder(path)
      ? (await files.folderExists(path, { signal })) && ({ kind: 'folder', path } as const)
      : await files.stat(path, { signal }).catch(ignoreMissing);
    if (entry) found.set(path, entry);
  };
  await concurrently(Readable.from(paths), MAX_PARALLEL_CHECKS, find, signal);
  return paths.flatMap((path) => found.get(path) ?? []);
}

/** Returns undefined if the error says that nothing of this kind has the path. Otherwise throws it. */
function ignoreMissing(error: unknown): undefined {
  if (isStoreError(error, 'not-found') || isStoreError(error, 'wrong-kind')) return undefined;
  throw error;
}

/** Returns the child of `folder` that contains `below`. */
function childContaining(folder: FolderPath, below: FolderPath): FolderPath {
  return below.slice(0, below.indexOf('/', folder.length) + 1) as FolderPath;
}
