import { setImmediate as nextTurn } from 'node:timers/promises';
import { mapAhead } from '../concurrency/concurrently.ts';
import type { Files } from '../files/files.ts';
import { isStoreError, undefinedIfNotFound } from '../model/error.ts';
import { type FilePath, type FolderPath, isFolder, isWithin, nameOf, parentOf, ROOT } from '../model/path.ts';
import type { Cancellable, Entry, FileEntry, Listing } from '../model/store.ts';
import { Archive, MAX_ENTRIES, tooManyEntries } from './archive.ts';
import { FolderNames } from './safe-names.ts';

/** What an archive needs of the files of a user. */
export type ZipFiles = Pick<Files, 'list' | 'stat' | 'read'> & Partial<Pick<Files, 'isSizeCertain'>>;

export interface BuildOptions extends Cancellable {
  /** Called before memory is allocated for the archive. Can throw to refuse it. */
  readonly reserve?: (bytes: number) => void;
}

/** Folders whose first pages are requested in advance, and files whose metadata is: buckets are far away. */
const AHEAD = 8;

/** Entries of listings that wait, from which no more are requested in advance: large folders need little time per entry. */
const MAX_WAITING_ENTRIES = 1000;

/** A folder to add, with its path in the archive: empty, or with a trailing `/`. */
interface PendingFolder {
  readonly path: FolderPath;
  readonly name: string;
}

/**
 * Returns the layout of an archive of these files and folders, with everything in the folders that the user may see. The
 * names are relative to the folder that contains all `paths`, and safe to extract on any system. Folders without
 * content are entries of their own. Equal content results in an equal archive.
 *
 * Throws `not-found` if one of `paths` does not exist, `AccessDenied` if the user may not read it, and `zip-too-large`.
 */
export async function buildArchive(
  files: ZipFiles,
  paths: readonly (FilePath | FolderPath)[],
  { reserve, signal }: BuildOptions = {},
): Promise<Archive> {
  const archive = new Archive(reserve);
  const selected = withoutContained(paths);
  const names = new SelectionNames(commonParent(selected));
  const folders: (PendingFolder | undefined)[] = [];
  const options = signal ? { signal } : {};
  const find = async (path: FilePath | FolderPath) => (isFolder(path) ? undefined : files.stat(path, options));
  for await (const { item: path, found: file } of mapAhead(each(selected), AHEAD, find)) {
    if (file) addFile(archive, file, names.of(file.path));
    else if (isFolder(path)) folders.push({ path, name: path === ROOT ? '' : `${names.of(path)}/` });
  }
  await addFolders(archive, { files, requested: new Set(selected), options, folders });
  return archive;
}

/** Returns the name of the file that the archive of these paths is saved as. `rootName` is the name of the root. */
export function archiveName(paths: readonly (FilePath | FolderPath)[], rootName = ''): string {
  const selected = withoutContained(paths);
  const [only = ROOT] = selected;
  const name = nameOf(selected.length === 1 ? only : commonParent(selected));
  return `${name || rootName || 'files'}.zip`;
}

/** Returns the paths without those that another one contains, in order of their first appearance and each once. */
function withoutContained(paths: readonly (FilePath | FolderPath)[]): (FilePath | FolderPath)[] {
  const folders = new Set(paths.filter(isFolder));
  const isContained = (path: FilePath | FolderPath) => {
    for (let parent = path; parent !== ROOT; ) {
      parent = parentOf(parent);
      if (folders.has(parent)) return true;
    }
    return false;
  };
  // The order of the request must not affect the archive.
  return [...new Set(paths)].filter((path) => !isContained(path)).toSorted(byBytes);
}

const byBytes = (left: string, right: string) => Buffer.compare(Buffer.from(left), Buffer.from(right));

/** Returns the deepest folder that contains all paths. */
function commonParent([first = ROOT, ...others]: readonly (FilePath | FolderPath)[]): FolderPath {
  let common = parentOf(first);
  for (const path of others) {
    while (!isWithin(path, common) || path === common) common = parentOf(common);
  }
  return common;
}

/** The names of a selection, relative to a folder. */
class SelectionNames {
  readonly #base: FolderPath;
  readonly #namesIn = new Map<FolderPath, FolderNames>();
  readonly #nameOf = new Map<FolderPath, string>();

  constructor(base: FolderPath) {
    this.#base = base;
  }

  /** Returns the path of a selected file or folder in the archive, without a trailing `/`. */
  of(path: FilePath | FolderPath): string {
    const parent = parentOf(path);
    const names = this.#namesIn.get(parent) ?? new FolderNames();
    this.#namesIn.set(parent, names);
    return this.#nameOfFolder(parent) + names.add(nameOf(path));
  }

  /** Returns the path of a folder that only contains selected ones. */
  #nameOfFolder(folder: FolderPath): string {
    if (folder === this.#base) return '';
    const name = this.#nameOf.get(folder) ?? `${this.of(folder)}/`;
    this.#nameOf.set(folder, name);
    return name;
  }
}

/** The folders of a selection, and those that were found in them. */
interface Walk {
  readonly files: ZipFiles;
  /** The paths of the request, which must exist. */
  readonly requested: ReadonlySet<string>;
  readonly options: Cancellable;
  /** Grows during the walk. Folders that were added are undefined. */
  readonly folders: (PendingFolder | undefined)[];
}

/** Adds folders and everything in them, level by level. Requests the first pages of the next folders in advance. */
async function addFolders(archive: Archive, walk: Walk): Promise<void> {
  const { folders } = walk;
  const ahead: Promise<Listing | undefined>[] = [];
  let waitingEntries = 0;
  const request = (path: FolderPath) => {
    const listing = listPage(walk, path);
    // The error is thrown when the listing is awaited. It might never be, if another one fails first.
    listing.then(
      (page) => (waitingEntries += page?.entries.length ?? 0),
      () => {},
    );
    ahead.push(listing);
  };
  for (let index = 0; index < folders.length; index++) {
    const { path, name } = folders[index] ?? { path: ROOT, name: '' };
    folders[index] = undefined;
    if (ahead.length === 0) request(path);
    for (let next = index + ahead.length; next < folders.length; next++) {
      if (ahead.length === AHEAD || waitingEntries > MAX_WAITING_ENTRIES) break;
      request(folders[next]?.path ?? ROOT);
    }
    const page = await ahead.shift();
    waitingEntries -= page?.entries.length ?? 0;
    await addFolder(archive, { path, name }, { ...walk, page });
  }
}

async function addFolder(
  archive: Archive,
  { path, name }: PendingFolder,
  walk: Walk & { readonly page: Listing | undefined },
): Promise<void> {
  const { folders } = walk;
  const names = new FolderNames();
  let { page } = walk;
  if (page?.entries.length === 0 && name !== '') archive.add({ path, name, etag: '', size: 0, modified: null });
  while (page) {
    for (const entry of await withSizes(walk, page.entries)) {
      const child = name + names.add(nameOf(entry.path));
      if (entry.kind === 'file') addFile(archive, entry, child);
      else folders.push({ path: entry.path, name: `${child}/` });
      if (folders.length > MAX_ENTRIES) throw tooManyEntries(entry.path);
    }
    // A store in memory would otherwise block the process.
    await nextTurn();
    page = page.cursor === undefined ? undefined : await listPage(walk, path, page.cursor);
  }
}

/** Returns the entries with the sizes of their contents, without files that were removed since. */
async function withSizes({ files, options }: Walk, entries: readonly Entry[]): Promise<readonly Entry[]> {
  const isCertain = (entry: Entry) => entry.kind === 'folder' || (files.isSizeCertain?.(entry) ?? true);
  if (entries.every(isCertain)) return entries;
  const complete = async (entry: Entry) =>
    isCertain(entry) ? entry : undefinedIfNotFound(files.stat(entry.path as FilePath, options));
  const completed: Entry[] = [];
  for await (const { found } of mapAhead(each(entries), AHEAD, complete)) if (found) completed.push(found);
  return completed;
}

/** Returns a page of a folder; undefined if the folder was deleted after its parent was listed. */
async function listPage(
  { files, requested, options }: Walk,
  path: FolderPath,
  cursor?: string,
): Promise<Listing | undefined> {
  try {
    return await files.list(path, { ...options, ...(cursor !== undefined && { cursor }) });
  } catch (error) {
    if (!requested.has(path) && isStoreError(error, 'not-found')) return undefined;
    throw error;
  }
}

function addFile(archive: Archive, { path, etag, size, modified }: FileEntry, name: string): void {
  archive.add({ path, name, etag, size, modified });
}

async function* each<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  yield* items;
}
