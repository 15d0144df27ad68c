import { hash } from 'node:crypto';
import { quoted, StoreError } from '../../../model/error.ts';
import { comparePaths, type FilePath, type FolderPath, nameOf, parentOf, ROOT } from '../../../model/path.ts';
import { mediaTypeOf } from '../../../model/presentation.ts';
import type { FileEntry } from '../../../model/store.ts';
import { hashOfBlob } from '../blobs/cached-blobs.ts';

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

/**
 * Name of the file that represents an empty folder, because git does not store empty folders. `.gitkeep` is the common
 * convention. Markers are not listed and can't be requested.
 */
export const MARKER = '.gitkeep';

/** A new marker: an empty file. It is sent as text, because the repository may not contain its blob yet. */
export const MARKER_ENTRY: TreeEntry = { mode: FILE, sha: 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391', size: 0 };
export const MARKER_CONTENT = '';

export const markerOf = (folder: FolderPath) => `${folder}${MARKER}` as FilePath;

/** Returns whether a path contains the name of markers. Such paths are not served. */
export function isReserved(path: FilePath | FolderPath): boolean {
  return path.split('/').includes(MARKER);
}

/**
 * Throws `invalid-path` for names that a repository can't contain: git's own names and the name of markers. Covers all
 * spellings of git's names that file systems accept (`verify_path` in git's read-cache.c).
 */
export function requireWritable(path: FilePath | FolderPath): void {
  for (const name of path.split('/')) {
    if (name === MARKER) throw reservedName(path, `the name ${quoted(MARKER)}, which marks empty folders`);
    if (GIT.test(name.replace(IGNORED, ''))) throw reservedName(path, `the name ${quoted(name)}, which git reserves`);
  }
}

/**
 * `.git` with the suffixes that NTFS ignores, and its NTFS short name. Also after a backslash, which is a separator on
 * Windows.
 */
const GIT = /(^|\\)(\.git|git~1)[ .]*($|[\\:])/i;

/**
 * Returns whether git or Git LFS reads settings from a file of this name. Covers all spellings that file systems accept
 * (`is_ntfs_dot_generic` and `is_hfs_dot_str` of git). `.gitattributes` in any folder selects the pointers that are
 * served as Git LFS objects. `.lfsconfig` and `.gitmodules` in the root name servers that clones contact.
 */
export function isGitSettings(path: FilePath): boolean {
  const name = nameOf(path).replace(IGNORED, '');
  return ATTRIBUTES.test(name) || (parentOf(path) === ROOT && ROOT_SETTINGS.test(name));
}

const ATTRIBUTES = /^(\.gitattributes|gitatt~[1-4]|gi7d29~\d)[ .]*(:|$)/i;
const ROOT_SETTINGS = /^(\.gitmodules|gitmod~[1-4]|gi7eba~\d|\.lfsconfig|lfscon~[1-4])[ .]*(:|$)/i;

/** Characters in names that HFS+ ignores. */
const IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

function reservedName(path: FilePath | FolderPath, what: string): StoreError {
  return new StoreError('unsupported-name', `The path ${quoted(path)} has ${what}.`);
}
