import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, mkdir, open, opendir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder of a bounded number of bytes, which any number of processes share. */
export interface CacheFolder {
  /** Makes the folder where it is missing, for its owner alone. The first sweep starts when it is there. */
  make(): Promise<void>;
  /** A new file. Whoever asked closes it, and keeps or discards it. */
  create(): Promise<NewFile>;
  /** Ends the sweeping, and resolves when it has ended. Nothing starts it again. */
  close(): Promise<void>;
}

/** A file on its way into a cache, under a temporary name. */
export interface NewFile {
  /** Open for reading and writing. */
  readonly file: FileHandle;
  /** Gives the file its name and replaces what has it. `bytes` is how long the file has become. */
  keep(name: string, bytes: number): Promise<void>;
  /** Takes the temporary name away; what has the file open goes on. Does nothing once the file is kept. */
  discard(): Promise<void>;
}

export interface CacheFolderOptions {
  readonly path: string;
  /** Bytes in the folder, temporary files left out. */
  readonly size: number;
  /** What the files of the cache are called. All else in the folder is left alone. */
  readonly names: RegExp;
  /** Is told why the folder could not be swept. */
  readonly warn: (error: unknown) => void;
}

/**
 * The files used least recently make room. A process looks at the folder at its start, and when it has added a tenth
 * of `size`; the cache then shrinks to `largestKept`, so that each process that shares it can pass the bound by no
 * more than a tenth or, where that is more, by one file.
 */
export function createCacheFolder({ path, size, names, warn }: CacheFolderOptions): CacheFolder {
  const closing = new AbortController();
  /** Bytes in the folder that no sweep has seen. Nobody knows yet how many there are at first. */
  let unswept = Number.POSITIVE_INFINITY;
  let sweeping: Promise<void> | undefined;

  const sweepWhenDue = () => {
    if (sweeping || unswept === 0 || unswept < size / 10 || closing.signal.aborted) return;
    unswept = 0;
    sweeping = sweep(path, { names, target: largestKept(size), signal: closing.signal })
      .catch(warn)
      .finally(() => {
        sweeping = undefined;
        sweepWhenDue();
      });
  };

  return {
    async make() {
      await mkdir(path, { recursive: true, mode: 0o700 });
      sweepWhenDue();
    },

    async create() {
      const temporary = join(path, `${randomUUID()}${TEMPORARY_SUFFIX}`);
      return {
        file: await open(temporary, 'wx+', 0o600),
        async keep(name, bytes) {
          await rename(temporary, join(path, name));
          unswept += bytes;
          sweepWhenDue();
        },
        discard: () => unlink(temporary).catch(() => {}),
      };
    },

    async close() {
      closing.abort();
      await sweeping;
    },
  };
}

/** Bytes that a sweep leaves in a cache of `size` bytes: a larger file would be swept as soon as it is kept. */
export function largestKept(size: number): number {
  return size * 0.9;
}

/** Notes in the time stamp of a file that it was used. */
export async function noteUse(file: FileHandle): Promise<void> {
  const now = new Date();
  // Where that is not allowed, keeping a file fails as well, which is told.
  await file.utimes(now, now).catch(() => {});
}

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
