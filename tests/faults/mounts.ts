import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { atEnd, type Owner } from '../process/holdall.ts';

const run = promisify(execFile);

/**
 * Mounts a file system in memory at `folder`, with these options of mount(8), until its owner ends. Where the
 * machine does not let us, it gives the reason.
 */
export async function mountTmpfs(t: Owner, folder: string, options: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return `tmpfs is of Linux, and this is ${process.platform}`;
  await mkdir(folder, { recursive: true });
  try {
    await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  } catch (error) {
    // The last line says why; those before it, what was tried.
    return `a tmpfs can't be mounted here: ${String(error).trim().split('\n').at(-1)}`;
  }
  atEnd(t, () => run('umount', ['--lazy', folder]));
  return undefined;
}
