import { type KeptId, newKeptId } from '../../../model/kept-ids.ts';
import {
  childFolder,
  type FilePath,
  type FolderPath,
  isFolder as isFolderPath,
  parentOf,
  ROOT,
  withoutSlash,
} from '../../../model/path.ts';
import type { FileEntry, Keep, Keeping, Replacing, WriteOptions } from '../../../model/store.ts';
import {
  alreadyExists,
  kindConflict,
  notEmpty,
  notFound,
  notInTrash,
  requireCondition,
  requireEtag,
} from '../../../model/store-errors.ts';
import {
  EXECUTABLE,
  FILE,
  fileEntry,
  isFile,
  isFolder,
  MARKER_CONTENT,
  MARKER_ENTRY,
  markerOf,
  type TreeEntry,
} from '../branch/objects.ts';
import { isReserved, requireWritable } from '../branch/reserved-names.ts';
import type { Draft } from './draft.ts';
import { formatRestored, formatTrashed, formatUser } from './trailers.ts';

/**
 * One change to the branch. `apply` checks its preconditions, throws if one fails, and otherwise modifies the draft. It
 * can be applied again to a newer draft if the branch moved meanwhile.
 */
export interface Change<Result> {
  /** Returns the line for the commit message. `served` is the path of the served folder. */
  summarize(served: FolderPath): string;
  /** Bytes of text that the request to create the tree contains. */
  readonly textBytes?: number;
  /** Maximum bytes of the trailers, approximately. */
  readonly trailerBytes?: number;
  /** Returns the trailers of the commit message, after the last `apply`. */
  trailers?(served: FolderPath): readonly string[];
  apply(draft: Draft): Promise<Result>;
}

/** What a change returns that can keep what it replaces: its result, and the id of the version or item. */
export interface KeptResult<Result> {
  readonly result: Result;
  readonly kept?: KeptId | undefined;
  /** Whether the destination already had this content, so that nothing changes and nothing is kept. */
  readonly isUnchanged?: boolean;
}

/** The content of a file: a blob that GitHub already has, or a text that is sent with the tree. */
export interface FileContent {
  readonly sha: string;
  readonly size: number;
  readonly text?: string | undefined;
}

export interface History {
  /** Returns the newest commit that `head` contains and that changed a file. */
  lastCommitOf(head: string, file: FilePath): Promise<string>;
}

export interface PutOptions extends WriteOptions, Keeping, History {
  /** The verb in the commit message. Default: Upload */
  readonly verb?: string;
}

export function putFile(
  file: FilePath,
  content: FileContent,
  { condition, keep, onOutcome, lastCommitOf, verb = 'Upload' }: PutOptions,
): Change<KeptResult<FileEntry>> {
  requireWritable(file);
  const author = new AuthorRecord(file, keep);
  return {
    summarize: (served) => `${verb} ${served}${file}`,
    textBytes: content.text === undefined ? 0 : content.size,
    trailerBytes: author.bytes,
    trailers: (served) => author.trailers(served),
    async apply(draft) {
      const present = await findReplaced(draft, file);
      requireCondition(file, present && fileEntry(file, present), condition);
      author.isChanged = present?.sha !== content.sha;
      const entry = { mode: modeOf(present), sha: content.sha, size: content.size };
      const kept = keep && (await versionOf(draft, file, { present, entry, lastCommitOf }));
      await draft.put(file, entry, content.text);
      onOutcome?.({ replaced: present !== undefined });
      return { result: fileEntry(file, content), kept };
    },
  };
}

export function removeFile(file: FilePath, ifMatch?: string): Change<void> {
  return {
    summarize: (served) => `Delete ${served}${file}`,
    async apply(draft) {
      const present = await requireFile(draft, file);
      requireEtag(fileEntry(file, present), ifMatch);
      await draft.remove(file);
    },
  };
}

export function copyFile(
  from: FilePath,
  to: FilePath,
  { replace, keep, lastCommitOf }: Replacing & Keeping & History,
): Change<KeptResult<FileEntry>> {
  requireWritable(to);
  const author = new AuthorRecord(to, keep);
  return {
    summarize: (served) => `Copy ${served}${from} to ${served}${to}`,
    trailerBytes: author.bytes,
    trailers: (served) => author.trailers(served),
    async apply(draft) {
      const source = await requireFile(draft, from);
      const present = await findReplaced(draft, to);
      if (present && !replace) throw alreadyExists(to);
      author.isChanged = present?.sha !== source.sha;
      const entry = { ...source, mode: modeOf(source) };
      const kept = keep && (await versionOf(draft, to, { present, entry, lastCommitOf }));
      await draft.put(to, entry);
      return { result: fileEntry(to, source), kept };
    },
  };
}

export function moveFile(...[from, to, options]: Parameters<typeof copyFile>): Change<KeptResult<void>> {
  const copy = copyFile(from, to, options);
  return {
    ...copy,
    summarize: (served) => `Move ${served}${from} to ${served}${to}`,
    async apply(draft) {
      await requireFile(draft, from);
      await draft.requireRemovable(from);
      const { kept } = await copy.apply(draft);
      await draft.remove(from);
      return { result: undefined, kept };
    },
  };
}

export function createFolder(folder: FolderPath): Change<void> {
  requireWritable(folder);
  return {
    summarize: (served) => `Create ${served}${folder}`,
    async apply(draft) {
      const unmarked: FolderPath[] = [];
      for (let path = folder; path !== ROOT; path = parentOf(path)) {
        const entry = await draft.find(path);
        if (entry && !isFolder(entry)) throw kindConflict(path);
        // The requested folder gets a marker, so that it remains when it becomes empty. Existing parents stay
        // unchanged.
        const needsMarker = path === folder && !(await draft.find(markerOf(path)));
        if (!entry || needsMarker) unmarked.push(path);
      }
      for (const path of unmarked) await draft.put(markerOf(path), MARKER_ENTRY, MARKER_CONTENT);
    },
  };
}

export function removeFolder(folder: FolderPath): Change<void> {
  return {
    summarize: (served) => `Delete ${served}${folder}`,
    async apply(draft) {
      const count = await draft.count(folder);
      if (count === undefined || isReserved(folder)) throw notFound(folder);
      const isMarked = (await draft.find(markerOf(folder))) !== undefined;
      if (count > (isMarked ? 1 : 0)) throw notEmpty(folder);
      await draft.remove(folder);
    },
  };
}

/** Removes a folder and everything in it. */
export function removeTree(folder: FolderPath, checkFolder: (folder: TreeEntry) => Promise<void>): Change<void> {
  return {
    summarize: (served) => `Delete ${served}${folder}`,
    async apply(draft) {
      await checkFolder(await requireFolder(draft, folder));
      await draft.remove(folder);
    },
  };
}

type FolderTransfer = (
  from: FolderPath,
  to: FolderPath,
  options: Replacing &
    Keeping & {
      /** Throws if the transfer is impossible, for example because a path would be too long. */
      checkFolder(folder: TreeEntry): Promise<void>;
    },
) => Change<KeptResult<void>>;

export const copyFolder: FolderTransfer = (...transfer) => transferFolder('Copy', ...transfer);

export const moveFolder: FolderTransfer = (...transfer) => transferFolder('Move', ...transfer);

function transferFolder(
  verb: 'Copy' | 'Move',
  ...[from, to, { replace, keep, checkFolder }]: Parameters<FolderTransfer>
): ReturnType<FolderTransfer> {
  requireWritable(to);
  const id = newKeptId();
  let replaced: TreeEntry | undefined;
  return {
    summarize: (served) => `${verb} ${served}${from} to ${served}${to}`,
    trailerBytes: keep ? trailerBytes(to, keep.user) : 0,
    trailers: (served) =>
      replaced ? [formatTrashed({ id, path: served + to, entry: replaced, user: keep?.user })] : [],
    async apply(draft) {
      replaced = undefined;
      const source = await requireFolder(draft, from);
      if (verb === 'Move') await draft.requireRemovable(from);
      await requireParents(draft, to);
      const present = await draft.find(to);
      if (present && !isFolder(present)) throw kindConflict(to);
      if (present && !replace) throw alreadyExists(to);
      await checkFolder(source);
      const before = present && keep && (await requireFolder(draft, to));
      // No commit would record the item: the history of the served folder omits commits that change nothing in it.
      if (verb === 'Copy' && before?.sha === source.sha) return { result: undefined, isUnchanged: true };
      if (before) await draft.requireCommitted(to);
      await draft.put(to, source);
      if (verb === 'Move') await draft.remove(from);
      replaced = before;
      return { result: undefined, kept: before && id };
    },
  };
}

/** Moves a file or folder to the trash: removes it, and records its entry in the commit. */
export function moveToTrash(
  path: FilePath | FolderPath,
  { id, user, ifMatch }: { readonly id: KeptId; readonly user?: string | undefined; readonly ifMatch?: string },
  checkFolder: (folder: TreeEntry) => Promise<void>,
): Change<TreeEntry> {
  let trashed: TreeEntry | undefined;
  return {
    summarize: (served) => `Delete ${served}${path}`,
    trailerBytes: trailerBytes(path, user),
    trailers: (served) => (trashed ? [formatTrashed({ id, path: served + path, entry: trashed, user })] : []),
    async apply(draft) {
      const entry = isFolderPath(path) ? await requireFolder(draft, path) : await requireFile(draft, path);
      if (isFolderPath(path)) await checkFolder(entry);
      else requireEtag(fileEntry(path, entry), ifMatch);
      await draft.requireCommitted(path);
      await draft.remove(path);
      trashed = entry;
      return entry;
    },
  };
}

/**
 * Restores an item of the trash. `find` returns its entry if the item is in the trash at a commit; otherwise it throws
 * `not-found`.
 */
export function restore(
  id: KeptId,
  to: FilePath | FolderPath,
  find: (head: string) => Promise<TreeEntry>,
): Change<void> {
  requireWritable(to);
  return {
    summarize: (served) => `Restore ${served}${to}`,
    trailerBytes: trailerBytes(to, undefined),
    trailers: () => [formatRestored(id)],
    async apply(draft) {
      if (draft.restored.has(id)) throw notInTrash(id);
      const entry = await find(draft.head);
      await requireParents(draft, to);
      const present = await draft.find(to);
      if (present && isFolder(present) !== isFolderPath(to)) throw kindConflict(to);
      if (present) throw alreadyExists(to);
      await draft.put(to, entry);
      draft.restored.add(id);
    },
  };
}

/**
 * Adds a marker if the served folder is empty: it continues to exist, and GitHub does not document whether it accepts an
 * empty tree.
 */
export async function keepRoot(draft: Draft): Promise<void> {
  if ((await draft.count(ROOT)) === 0) await draft.put(markerOf(ROOT), MARKER_ENTRY, MARKER_CONTENT);
}

/**
 * Returns the id under which the replaced content of a file can be restored; undefined if `entry` replaces nothing. A new
 * version has the commit that contains it as its id. The same content becomes no version: its id is the commit that wrote
 * it. A content that no commit contains yet would be lost.
 */
async function versionOf(
  draft: Draft,
  file: FilePath,
  { present, entry, lastCommitOf }: History & { readonly present: TreeEntry | undefined; readonly entry: TreeEntry },
): Promise<KeptId | undefined> {
  if (!present) return undefined;
  await draft.requireCommitted(file);
  const isSame = present.sha === entry.sha && present.mode === entry.mode;
  return (isSame ? await lastCommitOf(draft.head, file) : draft.head) as KeptId;
}

/** The trailer that records the user who changes a file, if versions are kept. */
class AuthorRecord {
  readonly bytes: number;
  /** Whether the change gives the file another content. Otherwise there is no commit. */
  isChanged = false;
  readonly #file: FilePath;
  readonly #user: string | undefined;

  constructor(file: FilePath, keep: Keep | undefined) {
    this.#file = file;
    this.#user = keep?.user;
    this.bytes = this.#user === undefined ? 0 : trailerBytes(file, this.#user);
  }

  trailers(served: FolderPath): readonly string[] {
    return this.#user !== undefined && this.isChanged ? [formatUser(served + this.#file, this.#user)] : [];
  }
}

/** Returns the approximate size of a trailer with a path and a user, with room for its other parts and encoding. */
const trailerBytes = (path: string, user = ''): number => 3 * (path.length + user.length) + 100;

/**
 * Returns the file to be replaced, if any. Throws `wrong-kind` if a folder is at the path or a file is among its
 * parents.
 */
async function findReplaced(draft: Draft, file: FilePath): Promise<TreeEntry | undefined> {
  await requireParents(draft, file);
  const present = await draft.find(file);
  if (present && !isFile(present)) throw kindConflict(file);
  return present;
}

/** Throws `wrong-kind` if a parent of a path is not a folder. */
async function requireParents(draft: Draft, path: FilePath | FolderPath): Promise<void> {
  const names = withoutSlash(path).split('/').slice(0, -1);
  let folder = ROOT;
  for (const name of names) {
    folder = childFolder(folder, name);
    const entry = await draft.find(folder);
    if (!entry) return;
    if (!isFolder(entry)) throw kindConflict(folder);
  }
}

async function requireFile(draft: Draft, file: FilePath): Promise<TreeEntry> {
  const entry = isReserved(file) ? undefined : await draft.find(file);
  if (!entry || !isFile(entry)) throw notFound(file);
  return entry;
}

async function requireFolder(draft: Draft, folder: FolderPath): Promise<TreeEntry> {
  const entry = isReserved(folder) ? undefined : await draft.folder(folder);
  if (!entry) throw notFound(folder);
  return entry;
}

/** Returns the mode of a file that is written: executable files remain executable. */
const modeOf = (entry: TreeEntry | undefined) => (entry?.mode === EXECUTABLE ? EXECUTABLE : FILE);
