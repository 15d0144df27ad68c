import { quoted, StoreError } from '../../../model/error.ts';
import { type FilePath, type FolderPath, nameOf, parentOf, ROOT } from '../../../model/path.ts';

/**
 * Name of the file that represents an empty folder, because git does not store empty folders. `.gitkeep` is the common
 * convention. Markers are not listed and can't be requested.
 */
export const MARKER = '.gitkeep';

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
