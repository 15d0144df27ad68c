import type { Entry, Store } from '../../domain/store.ts';
import { pageOf } from '../page.ts';
import { type Child, createChildrenReader } from './children.ts';
import { entryOf } from './entry.ts';
import type { Folder, Root } from './root.ts';
import { translate } from './translate.ts';

/**
 * The listing of folders. Left out is what no path can name (names that are not UTF-8, or break a rule), and what
 * is neither a file nor a folder (links, devices): counted, and told through `warn`.
 */
export function createLister(root: Root, warn: (message: string, details: object) => void): Store['list'] {
  const readChildren = createChildrenReader();
  return async (path, { cursor, limit } = {}) => {
    try {
      await using folder = await root.openFolder(path);
      const { children, leftOut } = await readChildren(folder, path);
      if (leftOut > 0)
        warn('Entries of a folder were left out: no path can name them, or they are no files.', {
          folder: path,
          leftOut,
        });
      const page = pageOf(path, children, { cursor, limit });
      return { entries: await completeAll(folder, page.items), cursor: page.cursor };
    } catch (error) {
      throw translate(error, path);
    }
  };
}

/** The entries of children, but for those that went while the folder was read. */
async function completeAll(folder: Folder, children: readonly Child[]): Promise<Entry[]> {
  const names: string[] = [];
  for (const child of children) if (child.kind === 'file') names.push(child.name);
  const found = (await folder.lookUpAll(names)).values();
  const entries: Entry[] = [];
  for (const child of children) {
    if (child.kind === 'folder') {
      entries.push({ kind: 'folder', path: child.path });
      continue;
    }
    const stats = found.next().value;
    if (stats?.isFile()) entries.push(entryOf(child.path, stats));
  }
  return entries;
}
