import { hash } from 'node:crypto';
import { comparePaths, type FilePath, type FolderPath } from '../../../model/path.ts';
import { mediaTypeOf } from '../../../model/presentation.ts';
import type { FileEntry } from '../../../model/store.ts';
import { hashOfBlob } from '../blobs/cached-blobs.ts';
import { MARKER } from './reserved-names.ts';

/** Modes of tree entries (gitformat-index, git-fast-import), as the GitHub API writes them: six octal digits. */
export const FILE = '100644';
export const EXECUTABLE = '100755';
export const FOLDER = '040000';
export const LINK = '120000';
export const SUBMODULE = '160000';

/** An entry of a tree. */
export interface TreeEntry {
  readonly mode: string;
  readonly sha: string;
  /** Bytes of a file; otherwise 0. */
  readonly size: number;
}

/** A git tree: the immutable content of a folder, identified by its SHA. */
export interface Tree {
  readonly sha: string;
  readonly entries: ReadonlyMap<string, TreeEntry>;
  /**
   * Names that GitHub returned in place of names that are not UTF-8. They are not in `entries`. If there are any, the
   * SHA can't be recomputed.
   */
  readonly nonUtf8Names: ReadonlySet<string>;
}

/** The empty tree, which every repository contains implicitly. */
export const EMPTY_TREE: Tree = {
  sha: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  entries: new Map(),
  nonUtf8Names: new Set(),
};

export const isFolder = ({ mode }: TreeEntry): boolean => mode === FOLDER;

/** Returns whether an entry is a file, executable or not. Early versions of git also wrote mode 100664. */
export const isFile = ({ mode }: TreeEntry): boolean => mode.startsWith('100');

/** Returns the SHA of a blob with these bytes. */
export function shaOfBlob(bytes: Buffer): string {
  return hashOfBlob(bytes.length).update(bytes).digest('hex');
}

/** Returns the SHA of a tree with these entries. */
export function shaOfTree(entries: ReadonlyMap<string, TreeEntry>): string {
  const lines = [...entries]
    // Git sorts by bytes and compares folders as if their names ended with "/".
    .map(([name, entry]) => ({ name, entry, key: isFolder(entry) ? `${name}/` : name }))
    .toSorted((left, right) => comparePaths(left.key, right.key))
    .flatMap(({ name, entry }) => [
      Buffer.from(`${entry.mode.replace(/^0/, '')} ${name}\0`),
      Buffer.from(entry.sha, 'hex'),
    ]);
  const content = Buffer.concat(lines);
  return hash('sha1', Buffer.concat([Buffer.from(`tree ${content.length}\0`), content]));
}

/** Returns the metadata of a file. Git stores neither media type nor modification time. */
export function fileEntry(path: FilePath, { sha, size }: Pick<TreeEntry, 'sha' | 'size'>): FileEntry {
  return { kind: 'file', path, size, etag: sha, modified: null, type: mediaTypeOf(path) };
}

/** A new marker: an empty file. It is sent as text, because the repository might not contain its blob yet. */
export const MARKER_ENTRY: TreeEntry = { mode: FILE, sha: 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391', size: 0 };
export const MARKER_CONTENT = '';

export const markerOf = (folder: FolderPath) => `${folder}${MARKER}` as FilePath;
