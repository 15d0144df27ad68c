import { lstat, rmdir, unlink } from 'node:fs/promises';
import { systemErrorCode } from '../../model/error.ts';
import type { Reporting } from '../../model/store.ts';
import { openDirHandle } from './folder.ts';

/**
 * Removes a folder and everything in it, file by file, so that it can report progress. Removes names relative to the
 * opened folder. If another program creates a symbolic link there, only the link is removed, never its target.
 */
export async function removeTree(folder: string, { onProgress }: Reporting = {}): Promise<void> {
  let [done, bytes] = [0, 0];

  const removeFile = async (path: Buffer) => {
    if (onProgress) bytes += (await lstat(path)).size;
    await unlink(path);
    done++;
    onProgress?.({ done, total: null, bytes });
  };

  const empty = async (path: Buffer): Promise<void> => {
    await using inside = await openDirHandle(path);
    for (const child of await inside.children()) {
      const name = inside.at(child.name);
      if (!child.isDirectory()) await removeFile(name);
      else {
        await remove(name).catch(async (error: unknown) => {
          // The folder was replaced, perhaps by a link.
          if (!NO_FOLDER.has(systemErrorCode(error) ?? '')) throw error;
          await removeFile(name);
        });
      }
    }
  };

  const remove = async (path: Buffer): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      await empty(path);
      try {
        return await rmdir(path);
      } catch (error) {
        // An upload that opened the folder before the removal can still add its file.
        if (systemErrorCode(error) !== 'ENOTEMPTY' || attempt === ATTEMPTS) throw error;
      }
    }
  };

  await remove(Buffer.from(folder));
}

/** Maximum attempts to empty a folder while other programs add files. */
const ATTEMPTS = 10;

const NO_FOLDER = new Set(['ENOTDIR', 'ELOOP']);
