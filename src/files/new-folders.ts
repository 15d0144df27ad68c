import { quoted, StoreError } from '../model/error.ts';
import { type FilePath, type FolderPath, foldersOf } from '../model/path.ts';

/** Maximum depth of the folders that one operation creates. A path of 1 KiB could otherwise create 500 folders. */
const MAX_NEW_FOLDERS = 32;

/** Throws `invalid-request` if the folders of a path, itself included, include more than 32 that don't exist. */
export async function requireFewNewFolders(
  path: FilePath | FolderPath,
  folderExists: (folder: FolderPath) => Promise<boolean>,
): Promise<void> {
  const required = foldersOf(path)[MAX_NEW_FOLDERS];
  if (required !== undefined && !(await folderExists(required))) throw tooManyFolders(path);
}

/** Throws `invalid-request` if the folders of a path, itself included, include more than 32 that match. */
export function requireFewFolders(path: FilePath | FolderPath, matches: (folder: FolderPath) => boolean): void {
  if (foldersOf(path).filter(matches).length > MAX_NEW_FOLDERS) throw tooManyFolders(path);
}

function tooManyFolders(path: FilePath | FolderPath): StoreError {
  const message = `${quoted(path)} would create more than ${MAX_NEW_FOLDERS} folders in each other. Create some of them first.`;
  return new StoreError('invalid-request', message);
}
