import { quoted, StoreError } from '../model/error.ts';
import { type FilePath, type FolderPath, parentOf } from '../model/path.ts';

/** Maximum depth of the folders that one operation creates. A path of 1 KiB could otherwise create 500 folders. */
const MAX_NEW_FOLDERS = 32;

/** Throws `invalid-request` if the folders of a path, itself excluded, include more than 32 that don't exist. */
export async function requireFewNewParents(
  path: FilePath | FolderPath,
  folderExists: (folder: FolderPath) => Promise<boolean>,
): Promise<void> {
  const segments = parentOf(path).split('/').slice(0, -1);
  if (segments.length <= MAX_NEW_FOLDERS) return;
  const required = `${segments.slice(0, -MAX_NEW_FOLDERS).join('/')}/` as FolderPath;
  if (await folderExists(required)) return;
  const message = `${quoted(path)} would create more than ${MAX_NEW_FOLDERS} folders in each other. Create some of them first.`;
  throw new StoreError('invalid-request', message);
}
