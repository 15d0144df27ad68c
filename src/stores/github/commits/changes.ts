import { childFolder, type FilePath, type FolderPath, parentOf, ROOT, withoutSlash } from '../../../model/path.ts';
import type { FileEntry, Replacing, WriteOptions } from '../../../model/store.ts';
import {
  alreadyExists,
  kindConflict,
  notEmpty,
  notFound,
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

/**
 * One change to the branch. `apply` checks its preconditions, throws if one fails, and otherwise modifies the draft. It
 * can be applied again to a newer draft if the branch moved meanwhile.
 */
export interface Change<Result> {
  /** Returns the line for the commit message. `served` is the path of the served folder. */
  summarize(served: FolderPath): string;
  /** Bytes of text that the request to create the tree contains. */
  readonly textBytes?: number;
  apply(draft: Draft): Promise<Result>;
}

/** The content of a file: a blob that GitHub already has, or a text that is sent with the tree. */
export interface FileContent {
  readonly sha: string;
  readonly size: number;
  readonly text?: string | undefined;
}

export function putFile(
  file: FilePath,
  content: FileContent,
  { condition, onOutcome }: WriteOptions = {},
): Change<FileEntry> {
  requireWritable(file);
  return {
    summarize: (served) => `Upload ${served}${file}`,
    textBytes: content.text === undefined ? 0 : content.size,
    async apply(draft) {
      const present = await findReplaced(draft, file);
      requireCondition(file, present && fileEntry(file, present), condition);
      await draft.put(file, { mode: modeOf(present), sha: content.sha, size: content.size }, content.text);
      onOutcome?.({ replaced: present !== undefined });
      return fileEntry(file, content);
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

export function copyFile(from: FilePath, to: FilePath, options: Replacing): Change<FileEntry> {
  requireWritable(to);
  return {
    summarize: (served) => `Copy ${served}${from} to ${served}${to}`,
    async apply(draft) {
      const source = await requireFile(draft, from);
      const present = await findReplaced(draft, to);
      if (present && !options.replace) throw alreadyExists(to);
      await draft.put(to, { ...source, mode: modeOf(source) });
      return fileEntry(to, source);
    },
  };
}

export function moveFile(from: FilePath, to: FilePath, options: Replacing): Change<void> {
  const copy = copyFile(from, to, options);
  return {
    summarize: (served) => `Move ${served}${from} to ${served}${to}`,
    async apply(draft) {
      await requireFile(draft, from);
      await draft.requireRemovable(from);
      await copy.apply(draft);
      await draft.remove(from);
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

/** `checkFolder` throws if the copy is impossible, for example because a path would be too long. */
export function copyFolder(
  from: FolderPath,
  to: FolderPath,
  { replace, checkFolder }: Replacing & { checkFolder(folder: TreeEntry): Promise<void> },
): Change<void> {
  requireWritable(to);
  return {
    summarize: (served) => `Copy ${served}${from} to ${served}${to}`,
    async apply(draft) {
      const source = await requireFolder(draft, from);
      await requireParents(draft, to);
      const present = await draft.find(to);
      if (present && !isFolder(present)) throw kindConflict(to);
      if (present && !replace) throw alreadyExists(to);
      await checkFolder(source);
      await draft.put(to, source);
    },
  };
}

export function moveFolder(...[from, to, options]: Parameters<typeof copyFolder>): Change<void> {
  const copy = copyFolder(from, to, options);
  return {
    summarize: (served) => `Move ${served}${from} to ${served}${to}`,
    async apply(draft) {
      await requireFolder(draft, from);
      await draft.requireRemovable(from);
      await copy.apply(draft);
      await draft.remove(from);
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
