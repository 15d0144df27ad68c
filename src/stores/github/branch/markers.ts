import { quoted, StoreError } from '../../../domain/error.ts';
import { type FilePath, type FolderPath, nameOf, parentOf, ROOT } from '../../../domain/path.ts';
import { FILE, type TreeEntry } from './objects.ts';

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
