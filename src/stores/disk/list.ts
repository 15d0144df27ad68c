import { type FilePath, type FolderPath, isFolder, ROOT, rebase } from '../../domain/path.ts';
import type { Entry, Store } from '../../domain/store.ts';
import { pageOf } from '../page.ts';
import { createChildrenReader } from './children.ts';
import { entryOf } from './entry.ts';
import type { Folder } from './folder.ts';
import type { Root } from './root.ts';
import { translate } from './translate.ts';

/**
 * Lists folders. Leaves out entries that no path can name (names that are not UTF-8, or break a rule) and those that
 * are neither files nor folders (links, devices), and reports how many through `warn`.
 */
export function createLister(root: Root, warn: (message: string, details: object) => void): Store['list'] {
  const readChildren = createChildrenReader();
  return async (path, { cursor, limit } = {}) => {
    try {
      await using folder = await root.openFolder(path);
      const { names, leftOut } = await readChildren(folder, path);
      if (leftOut > 0)
        warn('Entries of a folder were left out: no path can name them, or they are no files.', {
          folder: path,
          leftOut,
        });
      const page = pageOf(path, names, { cursor, limit }, (name) => path + name);
      return { entries: await completeAll(folder, path, page.items), cursor: page.cursor };
    } catch (error) {
      throw translate(error, path);
    }
  };
}

/** Returns the entries of names in a folder, except those that were removed since it was read. */
async function completeAll(
  folder: Folder,
  path: FolderPath,
  names: readonly (FilePath | FolderPath)[],
): Promise<Entry[]> {
  const found = (await folder.lookUpAll(names.filter((name) => !isFolder(name)))).values();
  const entries: Entry[] = [];
  for (const name of names) {
    if (isFolder(name)) {
      entries.push({ kind: 'folder', path: rebase(name, ROOT, path) });
      continue;
    }
    const stats = found.next().value;
    if (stats?.isFile()) entries.push(entryOf(rebase(name, ROOT, path), stats));
  }
  return entries;
}
