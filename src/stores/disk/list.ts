import type { Entry, Store } from '../../domain/store.ts';
import { pageOf } from '../page.ts';
import { type Child, createChildrenReader } from './children.ts';
import { entryOf } from './entry.ts';
import { lookUp } from './place.ts';
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

/** How many files are looked at in one go: enough to keep the disk busy, few enough to hold little memory. */
const BATCH = 32;

async function completeAll(folder: Folder, children: readonly Child[]): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let start = 0; start < children.length; start += BATCH) {
    const batch = await Promise.all(children.slice(start, start + BATCH).map((child) => complete(folder, child)));
    for (const entry of batch) if (entry) entries.push(entry);
  }
  return entries;
}

/** The entry of a child, or undefined when it went while the folder was read. */
async function complete(folder: Folder, child: Child): Promise<Entry | undefined> {
  if (child.kind === 'folder') return { kind: 'folder', path: child.path };
  const stats = await lookUp(folder, child.name);
  return stats?.isFile() ? entryOf(child.path, stats) : undefined;
}
