import { constants } from 'node:fs';
import { lstat, open, readdir, rmdir, unlink } from 'node:fs/promises';
import type { Reporting } from '../../domain/store.ts';
import { codeOf } from '../../domain/system-error.ts';
import { pathOfOpen } from './opened.ts';

/**
 * Removes a folder and everything in it, file by file, so that the progress can be told. Each folder is opened
 * without following links and its names are removed through what was opened: a link that somebody puts in the way
 * is removed itself, and not what it leads to. Names are bytes here, since they need not be UTF-8.
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
      await using handle = await open(path, FLAGS);
      const inside = Buffer.from(`${pathOfOpen(handle.fd, path.toString())}/`);
      for (const child of await readdir(inside, { withFileTypes: true, encoding: 'buffer' })) {
        const name = Buffer.concat([inside, child.name]);
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

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;

const NO_FOLDER = new Set(['ENOTDIR', 'ELOOP']);
