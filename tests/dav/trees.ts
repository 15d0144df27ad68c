import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Files by path, with their content, and empty folders with null: `{ 'a/b.txt': 'text', 'a/empty/': null }`. */
export type Tree = Readonly<Record<string, string | null>>;

/**
 * Reads a folder, except what the service and davfs2 store in it. Contents are Latin-1, so that any bytes are compared
 * exactly when `encoding` is `latin1`.
 */
export async function treeIn(folder: string, encoding: 'utf8' | 'latin1' = 'utf8'): Promise<Tree> {
  const tree: Record<string, string | null> = {};
  const read = async (current: string): Promise<void> => {
    const entries = await readdir(current, { withFileTypes: true });
    const shown = entries.filter(({ name }) => current !== folder || (name !== '.holdall' && name !== 'lost+found'));
    if (shown.length === 0 && current !== folder) tree[`${relative(folder, current)}/`] = null;
    for (const entry of shown) {
      const path = join(current, entry.name);
      if (entry.isDirectory()) await read(path);
      else tree[relative(folder, path)] = await readFile(path, encoding);
    }
  };
  await read(folder);
  return tree;
}
