import { setImmediate as nextTurn } from 'node:timers/promises';
import { mapAhead } from '../concurrency/concurrently.ts';
import type { Files } from '../files/files.ts';
import { isStoreError, undefinedIfNotFound } from '../model/error.ts';
import { type FilePath, type FolderPath, isFolder, isWithin, nameOf, parentOf, ROOT } from '../model/path.ts';
import type { Cancellable, Entry, FileEntry, Listing } from '../model/store.ts';
import { Archive, MAX_ENTRIES, tooManyEntries } from './archive.ts';
import { MissingItems } from './missing-items.ts';
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

/** Names of a selection that block the process at most. */
const NAMES_PER_TURN = 2000;

/** The name of the list of missing items, unless a file has it. */
const MISSING_NAME = 'Missing files.txt';

/** A folder to add, with its path in the archive: empty, or with a trailing `/`. */
interface PendingFolder {
  readonly path: FolderPath;
  readonly name: string;
}

/**
 * Returns the layout of an archive of these files and folders, with everything in the folders that the user may see. The
 * names are relative to the folder that contains all `paths`, and safe to extract on any system. Folders without
 * content are entries of their own. Equal content results in an equal archive. What the store can't read or name is
 * listed in a text file at the end.
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
  const topNames = new FolderNames();
  const names = new SelectionNames(commonParent(selected), topNames);
  const missing = new MissingItems();
  const folders: (PendingFolder | undefined)[] = [];
  let nextPause = NAMES_PER_TURN;
  const options = signal ? { signal } : {};
  const find = async (path: FilePath | FolderPath) => {
    if (isFolder(path)) return undefined;
    return files.stat(path, options).catch((error: unknown) => {
      if (selected.length === 1) throw error;
      missing.addUnreadable(path, error);
      return undefined;
    });
  };
  for await (const { item: path, found: file } of mapAhead(each(selected), AHEAD, find)) {
    if (file) addFile(archive, file, names.of(file.path));
    else if (isFolder(path)) folders.push({ path, name: path === ROOT ? '' : `${names.of(path)}/` });
    if (names.count < nextPause) continue;
    nextPause = names.count + NAMES_PER_TURN;
    await nextTurn();
  }
  await addFolders(archive, { files, requested: new Set(selected), options, folders, topNames, missing });
  if (missing.text !== undefined) archive.addText(topNames.add(MISSING_NAME), missing.text);
  return archive;
}

/** Returns the name of the file that the archive of these paths is saved as. `rootName` is the name of the root. */
export function archiveName(paths: readonly (FilePath | FolderPath)[], rootName = ''): string {
  const selected = withoutContained(paths);
  const [only = ROOT] = selected;
  const name = nameOf(selected.length === 1 ? only : commonParent(selected));
  return `${name || rootName || 'files'}.zip`;
}

/**
 * Returns each path once, without those that another one contains, in the order of their bytes: the order of the request
 * must not affect the archive. The time is linear in the length of the paths, except for sorting.
 */
function withoutContained(paths: readonly (FilePath | FolderPath)[]): (FilePath | FolderPath)[] {
  const sorted = [...new Set(paths)]
    .map((path) => ({ path, bytes: Buffer.from(path) }))
    .toSorted((left, right) => Buffer.compare(left.bytes, right.bytes));
  const selected: (FilePath | FolderPath)[] = [];
  let folder: FolderPath | undefined;
  for (const { path } of sorted) {
    // What a folder contains follows it immediately.
    if (folder !== undefined && path.startsWith(folder)) continue;
    selected.push(path);
    if (isFolder(path)) folder = path;
  }
  return selected;
}

/** Returns the deepest folder that contains all paths. */
function commonParent([first = ROOT, ...others]: readonly (FilePath | FolderPath)[]): FolderPath {
  let common = parentOf(first);
  for (const path of others) {
    while (!isWithin(path, common) || path === common) common = parentOf(common);
  }
  return common;
}

/** A folder that contains selected files and folders, and is not selected itself. */
interface ParentFolder {
  readonly path: FolderPath;
  /** Its path in the archive: empty, or with a trailing `/`. */
  readonly name: string;
  readonly names: FolderNames;
}

/**
 * The names of a selection, relative to a folder. Only keeps the parents of the last path: a short request can name
 * millions of folders.
 */
class SelectionNames {
  /** The base, and the folders from there to the last path. */
  readonly #parents: [ParentFolder, ...ParentFolder[]];
  #count = 0;

  /** `names` are those in the base. */
  constructor(base: FolderPath, names: FolderNames) {
    this.#parents = [{ path: base, name: '', names }];
  }

  /** The number of names so far. */
  get count(): number {
    return this.#count;
  }

  /**
   * Returns the path of the next file or folder in the archive, without a trailing `/`. The paths must be in the order of
   * their bytes. Throws `zip-too-large`.
   */
  of(path: FilePath | FolderPath): string {
    return this.#add(this.#enter(parentOf(path)), path);
  }

  #enter(folder: FolderPath): ParentFolder {
    while (this.#parents.length > 1 && !folder.startsWith(this.#last.path)) this.#parents.pop();
    while (this.#last.path !== folder) {
      const path = folder.slice(0, folder.indexOf('/', this.#last.path.length) + 1) as FolderPath;
      this.#parents.push({ path, name: `${this.#add(this.#last, path)}/`, names: new FolderNames() });
    }
    return this.#last;
  }

  #add({ name, names }: ParentFolder, path: FilePath | FolderPath): string {
    if (++this.#count > MAX_ENTRIES) throw tooManyEntries(path);
    return name + names.add(nameOf(path));
  }

  get #last(): ParentFolder {
    return this.#parents.at(-1) ?? this.#parents[0];
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
  /** The names at the top of the archive. */
  readonly topNames: FolderNames;
  readonly missing: MissingItems;
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
  const { folders, missing } = walk;
  const names = name === '' ? walk.topNames : new FolderNames();
  let { page } = walk;
  if (page?.entries.length === 0 && name !== '') archive.add({ path, name, etag: '', size: 0, modified: null });
  while (page) {
    for (const omitted of page.omitted ?? []) missing.addUnnameable(path + omitted);
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

/**
 * Returns the entries with the sizes of their contents, without files that were removed since. Adds files that the store
 * can't read to `missing` instead.
 */
async function withSizes({ files, options, missing }: Walk, entries: readonly Entry[]): Promise<readonly Entry[]> {
  const isCertain = (entry: Entry) =>
    entry.kind === 'folder' || (!entry.mayBeUnreadable && (files.isSizeCertain?.(entry) ?? true));
  if (entries.every(isCertain)) return entries;
  const complete = async (entry: Entry) => {
    if (isCertain(entry)) return entry;
    const { path } = entry as FileEntry;
    return undefinedIfNotFound(files.stat(path, options)).catch((error: unknown) => {
      missing.addUnreadable(path, error);
      return undefined;
    });
  };
  const completed: Entry[] = [];
  for await (const { found } of mapAhead(each(entries), AHEAD, complete)) if (found) completed.push(found);
  return completed;
}

/**
 * Returns a page of a folder; undefined if the folder was deleted after its parent was listed, or if the store can't read
 * it.
 */
async function listPage(
  { files, requested, options, missing }: Walk,
  path: FolderPath,
  cursor?: string,
): Promise<Listing | undefined> {
  try {
    return await files.list(path, { ...options, checkReadable: true, ...(cursor !== undefined && { cursor }) });
  } catch (error) {
    if (requested.size === 1 && requested.has(path)) throw error;
    if (!requested.has(path) && isStoreError(error, 'not-found')) return undefined;
    missing.addUnreadable(path, error);
    return undefined;
  }
}

function addFile(archive: Archive, { path, etag, size, modified }: FileEntry, name: string): void {
  archive.add({ path, name, etag, size, modified });
}

async function* each<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  yield* items;
}
