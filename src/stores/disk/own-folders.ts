import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { relative } from 'node:path';
import { quoted, StoreError, systemErrorCode } from '../../model/error.ts';
import type { MaybePromise } from './blocking-budget.ts';

/** Returns the stats of a path without following a symbolic link; undefined if it does not exist. */
type Find = (path: string) => MaybePromise<Pick<BigIntStats, 'isDirectory'> | undefined>;

/**
 * Throws `disk-error` if a folder of Holdall's own, or one above it in `root`, was replaced with anything else, such as a
 * symbolic link. Missing folders can be created. Both paths are absolute.
 */
export async function requireOwnFolder(root: string, folder: string, find: Find = findInThreadpool): Promise<void> {
  let path = root;
  for (const name of relative(root, folder).split('/')) {
    path += `/${name}`;
    const found = await findUnlessTooLong(path, find);
    if (!found) return;
    if (!found.isDirectory()) throw ownFolderReplaced(relative(root, path));
  }
}

/** A name that is too long for the file system does not exist, so nothing can have replaced it. */
async function findUnlessTooLong(path: string, find: Find) {
  try {
    return await find(path);
  } catch (error) {
    if (systemErrorCode(error) === 'ENAMETOOLONG') return undefined;
    throw error;
  }
}

function ownFolderReplaced(folder: string): StoreError {
  const message = `Another program replaced Holdall's folder ${quoted(folder)} with a file or a symbolic link. Move it away.`;
  return new StoreError('disk-error', message);
}

const findInThreadpool: Find = (path) =>
  lstat(path, { bigint: true }).catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
