import { lstat, rmdir, unlink } from 'node:fs/promises';
import type { Reporting } from '../../domain/store.ts';
import { codeOf } from '../../domain/system-error.ts';
import { openInside } from './open-inside.ts';

/**
 * Removes a folder and everything in it, file by file, so that the progress can be told. Each folder's names are removed
 * through what was opened: a link that somebody puts in the way is removed itself, and not what it leads to.
 */
export async function removeTree(folder: string, { onProgress }: Reporting = {}): Promise<void> {
  let [done, bytes] = [0, 0];

  const removeFile = async (path: Buffer) => {
    if (onProgress) bytes += (await lstat(path)).size;
    await unlink(path);
    done++;
    onProgress?.({ done, total: null, bytes });
  };

  const remove = async (path: Buffer): Promise<void> => {
    {
      await using inside = await openInside(path);
      for (const child of await inside.children()) {
        const name = inside.at(child.name);
        if (!child.isDirectory()) await removeFile(name);
        else {
          await remove(name).catch(async (error: unknown) => {
            // No folder any more: a link, perhaps.
            if (!NO_FOLDER.has(codeOf(error) ?? '')) throw error;
            await removeFile(name);
          });
        }
      }
    }
    await rmdir(path);
  };

  await remove(Buffer.from(folder));
}

const NO_FOLDER = new Set(['ENOTDIR', 'ELOOP']);
