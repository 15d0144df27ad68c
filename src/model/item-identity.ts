import { type FilePath, type FolderPath, ROOT } from './path.ts';
import type { Store } from './store.ts';

/**
 * Returns the identity of the item at a path together with that of the root; undefined without an item, and if either is
 * unknown. Files that were moved to another disk, or restored from a backup, have another root.
 */
export async function identifyItem(
  identify: Store['identify'],
  path: FilePath | FolderPath,
): Promise<string | undefined> {
  if (!identify) return undefined;
  const [root, item] = [await identify(ROOT), await identify(path)];
  return root === undefined || item === undefined ? undefined : `${root} ${item}`;
}

/** Returns whether two identities have the same root. Otherwise they don't tell whether they belong to the same item. */
export const haveSameRoot = (one: string | undefined, other: string | undefined): boolean =>
  one?.split(' ')[0] === other?.split(' ')[0];
