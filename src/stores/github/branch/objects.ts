import { hash } from 'node:crypto';
import { quoted, StoreError } from '../../../model/error.ts';
import { mediaTypeOf } from '../../../model/media-type.ts';
import { comparePaths, type FilePath, type FolderPath, nameOf, parentOf, ROOT } from '../../../model/path.ts';
import type { FileEntry } from '../../../model/store.ts';
import { hashOfBlob } from '../blobs/kept-blobs.ts';

/** The modes of entries (gitformat-index, git-fast-import): six octal digits, as the host writes them. */
export const FILE = '100644';
export const EXECUTABLE = '100755';
export const FOLDER = '040000';
export const LINK = '120000';
export const SUBMODULE = '160000';

/** One name in a tree, and what it leads to. */
export interface TreeEntry {
  readonly mode: string;
  readonly sha: string;
  /** Bytes of a file; 0 of anything else. */
  readonly size: number;
}

/** A folder as git keeps it: what is under its names, by the sha of exactly that. */
export interface Tree {
  readonly sha: string;
  readonly entries: ReadonlyMap<string, TreeEntry>;
  /**
   * What the host told in the place of names that are not UTF-8. They are not among the entries; with any, `sha` can't be
   * computed.
   */
  readonly untold: ReadonlySet<string>;
}

/** The tree without entries, which every repository has without having been given it. */
export const EMPTY_TREE: Tree = {
  sha: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  entries: new Map(),
  untold: new Set(),
};

export const isFolder = ({ mode }: TreeEntry): boolean => mode === FOLDER;

/** Whether an entry is a file, executable or not; 100664 stands in repositories of git's first years. */
export const isFile = ({ mode }: TreeEntry): boolean => mode.startsWith('100');

/** The sha of a blob of these bytes. */
export function shaOfBlob(bytes: Buffer): string {
  return hashOfBlob(bytes.length).update(bytes).digest('hex');
}

/** The sha of the tree that has these entries. */
export function shaOfTree(entries: ReadonlyMap<string, TreeEntry>): string {
  const lines = [...entries]
    // Git's order: by bytes, a folder compared with a "/" behind its name.
    .map(([name, entry]) => ({ name, entry, key: isFolder(entry) ? `${name}/` : name }))
    .toSorted((left, right) => comparePaths(left.key, right.key))
    .flatMap(({ name, entry }) => [
      Buffer.from(`${entry.mode.replace(/^0/, '')} ${name}\0`),
      Buffer.from(entry.sha, 'hex'),
    ]);
  const content = Buffer.concat(lines);
  return hash('sha1', Buffer.concat([Buffer.from(`tree ${content.length}\0`), content]));
}

/** What is known of a file. Git keeps neither its type nor when it was written. */
export function fileEntry(path: FilePath, { sha, size }: Pick<TreeEntry, 'sha' | 'size'>): FileEntry {
  return { kind: 'file', path, size, etag: sha, modified: null, type: mediaTypeOf(path) };
}

/**
 * The file that keeps a folder of a repository which holds nothing else: git keeps no empty folders. The name is what
 * people have agreed on; it is never listed, and can't be asked for.
 */
export const MARKER = '.gitkeep';

/** A marker as it is made: an empty file. Its blob may be new to the repository, and so goes along as a text. */
export const MARKER_ENTRY: TreeEntry = { mode: FILE, sha: 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391', size: 0 };
export const MARKER_CONTENT = '';

export const markerOf = (folder: FolderPath) => `${folder}${MARKER}` as FilePath;

/** Whether a path has a segment with the name of markers, so that nothing is served there. */
export function isReserved(path: FilePath | FolderPath): boolean {
  return path.split('/').includes(MARKER);
}

/**
 * Throws `invalid-path` for what no repository takes: a name that git keeps for itself, in the spellings that file
 * systems take for it (`verify_path` of git's read-cache.c), and the name of markers, which is ours.
 */
export function requireWritable(path: FilePath | FolderPath): void {
  for (const name of path.split('/')) {
    if (name === MARKER) throw refused(path, `the name ${quoted(MARKER)}, which marks empty folders`);
    if (GIT.test(name.replace(IGNORED, '')))
      throw refused(path, `the name ${quoted(name)}, which git keeps for itself`);
  }
}

/** `.git`, with what NTFS passes over, and its short name there; also behind a backslash, which parts names there. */
const GIT = /(^|\\)(\.git|git~1)[ .]*($|[\\:])/i;

/**
 * Whether git or Git LFS reads its settings from a file of this name: `.gitattributes` in any folder, which decides for which
 * pointers an object of Git LFS is served, and in the root `.lfsconfig` and `.gitmodules`, which name servers that clones ask.
 * In every spelling that a file system takes for one of them (`is_ntfs_dot_generic` and `is_hfs_dot_str` of git).
 */
export function isGitSettings(path: FilePath): boolean {
  const name = nameOf(path).replace(IGNORED, '');
  return ATTRIBUTES.test(name) || (parentOf(path) === ROOT && ROOT_SETTINGS.test(name));
}

const ATTRIBUTES = /^(\.gitattributes|gitatt~[1-4]|gi7d29~\d)[ .]*(:|$)/i;
const ROOT_SETTINGS = /^(\.gitmodules|gitmod~[1-4]|gi7eba~\d|\.lfsconfig|lfscon~[1-4])[ .]*(:|$)/i;

/** Characters that HFS+ passes over in names. */
const IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

function refused(path: FilePath | FolderPath, what: string): StoreError {
  return new StoreError('invalid-path', `The path ${quoted(path)} has ${what}.`);
}
