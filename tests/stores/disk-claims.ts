import { link, lstat, mkdir, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { formatClaimName } from '../../src/stores/disk/version-names.ts';

/**
 * Creates the second name of a file that a process creates before it replaces the file. Other replacements of the file then wait
 * for that process, with the folder of the file open. `history` is the folder of the versions of the file. Returns the path of the name.
 */
export async function createClaim(root: string, path: string, history: string): Promise<string> {
  await mkdir(history, { recursive: true });
  const { ino } = await lstat(join(root, path), { bigint: true });
  const claim = join(history, formatClaimName(ino));
  await link(join(root, path), claim);
  return claim;
}

/** Returns how often this process has the file or folder open. */
export async function timesOpen(path: string): Promise<number> {
  const descriptors = await readdir('/proc/self/fd');
  const targets = await Promise.all(
    descriptors.map((name) => readlink(join('/proc/self/fd', name)).catch(() => undefined)),
  );
  return targets.filter((target) => target === path).length;
}
