import type { BigIntStats } from 'node:fs';
import { undefinedIfNotFound } from '../../model/error.ts';
import { type FilePath, type FolderPath, isFolder, nameOf, ROOT } from '../../model/path.ts';
import { inParent } from './atomic-rename.ts';
import type { Root } from './root.ts';

/** Fulfils the contract of `Store.identify`. */
export async function identify(root: Root, path: FilePath | FolderPath): Promise<string | undefined> {
  if (path === ROOT) {
    await using folder = await root.openFolder(ROOT);
    return identityOf(await folder.stats());
  }
  const found = await undefinedIfNotFound(inParent(root, path, async (folder) => folder.find(nameOf(path))));
  const isOfKind = isFolder(path) ? found?.isDirectory() : found?.isFile();
  return found && isOfKind ? identityOf(found) : undefined;
}

/**
 * Returns the inode number and the birth time. A file system reuses the inode number of a removed item, but not its
 * birth time. Returns undefined if the file system has no birth times (NFS 3, some FUSE drivers), because then nothing
 * tells a new item from a removed one. The device number is not a part, because it can change at each mount.
 */
export const identityOf = ({ ino, birthtimeNs }: BigIntStats): string | undefined =>
  birthtimeNs === 0n ? undefined : `${ino.toString(36)}-${birthtimeNs.toString(36)}`;

/** Returns whether an item has an identity, or none is required. */
export const hasIdentity = (stats: BigIntStats, identity: string | undefined): boolean =>
  identity === undefined || identityOf(stats) === identity;
