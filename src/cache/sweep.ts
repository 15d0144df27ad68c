import { lstat, opendir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** How the name of a file ends that is not complete yet. */
export const TEMPORARY_SUFFIX = '.tmp';

/**
 * Milliseconds since the last byte was written. Nothing that is written to a cache pauses for so long: an older
 * temporary file belongs to a process that was killed.
 */
const ABANDONED_AFTER = 10 * 60 * 1000;

export interface SweepOptions {
  /** What the files of the cache are called. */
  readonly names: RegExp;
  /** How many bytes may stay. */
  readonly target: number;
  /** Ends the sweep, without an error. */
  readonly signal: AbortSignal;
}

interface CachedFile {
  readonly path: string;
  readonly size: number;
  /** When it was last used, in milliseconds since 1970. */
  readonly used: number;
}

/**
 * Removes the files of the cache that were used least recently, until no more than `target` bytes are left, and what
 * killed processes left behind. What is not of the cache is not touched. Other processes may do the same meanwhile.
 */
export async function sweep(folder: string, options: SweepOptions): Promise<void> {
  const { target, signal } = options;
  const files = await cachedFiles(folder, options);
  files.sort((left, right) => left.used - right.used);
  let total = files.reduce((sum, { size }) => sum + size, 0);
  for (const { path, size } of files) {
    if (total <= target || signal.aborted) return;
    await removeIfPresent(path);
    total -= size;
  }
}

/** Whether an error says that a file is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** The files of the cache. Abandoned temporary files are removed on the way. */
async function cachedFiles(folder: string, { names, signal }: SweepOptions): Promise<CachedFile[]> {
  const files: CachedFile[] = [];
  // Whoever removed the folder has left nothing to sweep.
  const opened = await opendir(folder).catch(ignoreMissing);
  if (!opened) return files;
  for await (const { name } of opened) {
    if (signal.aborted) return [];
    const path = join(folder, name);
    if (names.test(name)) {
      const stats = await statIfPresent(path);
      if (stats?.isFile()) files.push({ path, size: stats.size, used: stats.mtimeMs });
    } else if (name.endsWith(TEMPORARY_SUFFIX)) {
      const stats = await statIfPresent(path);
      if (stats && Date.now() - stats.mtimeMs > ABANDONED_AFTER) await removeIfPresent(path);
    }
  }
  return files;
}

async function statIfPresent(path: string) {
  return lstat(path).catch(ignoreMissing);
}

async function removeIfPresent(path: string): Promise<void> {
  await unlink(path).catch(ignoreMissing);
}

function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
