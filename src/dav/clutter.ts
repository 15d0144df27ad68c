import { type FilePath, type FolderPath, nameOf } from '../model/path.ts';

/** What happens to the files that operating systems add to folders. `hide`: only WebDAV clients see them. */
export type ClutterPolicy = 'store' | 'hide' | 'refuse';

/** Exact names, in lower case: of macOS, of Windows, and of KDE. */
const NAMES: ReadonlySet<string> = new Set([
  '.ds_store',
  '.apdisk',
  '.fseventsd',
  '.hidden',
  '.metadata_never_index',
  '.spotlight-v100',
  '.temporaryitems',
  '.trashes',
  '.volumeicon.icns',
  '$recycle.bin',
  'desktop.ini',
  'ehthumbs.db',
  'thumbs.db',
  '.directory',
]);

/**
 * Returns whether a file or folder is one that operating systems add to folders: AppleDouble files of macOS (`._name`),
 * `.DS_Store`, `desktop.ini`, `Thumbs.db` and similar ones.
 */
export function isClutter(path: FilePath | FolderPath): boolean {
  const name = nameOf(path);
  return name.startsWith('._') || NAMES.has(name.toLowerCase());
}
