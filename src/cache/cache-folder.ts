import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, mkdir, open, opendir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** A cache folder of bounded size, which several processes can share. */
export interface CacheFolder {
  /** Creates the folder if missing, accessible only to its owner, and starts the first sweep. */
  make(): Promise<void>;
  /** Creates a temporary file. The caller must close it, and call `keep` or `discard`. */
  create(): Promise<NewFile>;
  /** Stops sweeping permanently. Resolves when the current sweep has ended. */
  close(): Promise<void>;
}

/** A new file for the cache, under a temporary name. */
export interface NewFile {
  /** Open for reading and writing. */
  readonly file: FileHandle;
  /** Renames the file to its final name and replaces an existing file. `bytes` is its size. */
  keep(name: string, bytes: number): Promise<void>;
  /** Removes the temporary file. Open descriptors remain usable. Does nothing after `keep`. */
  discard(): Promise<void>;
}

export interface CacheFolderOptions {
  readonly path: string;
  /** Maximum bytes in the folder, excluding temporary files. */
  readonly size: number;
  /** Matches the names of cached files. Other files are not touched, except abandoned temporary files. */
  readonly names: RegExp;
  /** Called with the error if a sweep fails. */
  readonly warn: (error: unknown) => void;
}

/**
 * Creates a cache folder that evicts the least recently used files. A process sweeps the folder at its start, and after
 * it has added a tenth of `size`. A sweep reduces the cache to `targetSize`. Each process can therefore exceed the
 * limit by at most a tenth or one file, whichever is larger.
 */
export function createCacheFolder({ path, size, names, warn }: CacheFolderOptions): CacheFolder {
  const closing = new AbortController();
  /** Bytes added since the last sweep began. Infinite at the start, because the content is unknown. */
  let unswept = Number.POSITIVE_INFINITY;
  let sweeping: Promise<void> | undefined;

  const sweepWhenDue = () => {
    if (sweeping || unswept === 0 || unswept < size / 10 || closing.signal.aborted) return;
    unswept = 0;
    sweeping = sweep(path, { names, target: targetSize(size), signal: closing.signal })
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

/** Returns the bytes that a sweep leaves in a cache of `size` bytes. A sweep would remove a larger file immediately. */
export function targetSize(size: number): number {
  return size * 0.9;
}

/** Records the use of a file in its timestamps. */
export async function noteUse(file: FileHandle): Promise<void> {
  const now = new Date();
  // Errors are ignored: without write permission, `keep` fails too and its error is reported.
  await file.utimes(now, now).catch(() => {});
}

/** Suffix of the names of incomplete files. */
export const TEMPORARY_SUFFIX = '.tmp';

/**
 * Milliseconds since the last write after which a temporary file is abandoned. No write to a cache pauses for so long,
 * so its process was killed.
 */
const ABANDONED_AFTER = 10 * 60 * 1000;

export interface SweepOptions {
  /** Matches the names of cached files. */
  readonly names: RegExp;
  /** Maximum bytes that remain. */
  readonly target: number;
  /** Stops the sweep without an error. */
  readonly signal: AbortSignal;
}

interface CachedFile {
  readonly path: string;
  readonly size: number;
  /** Time of the last use, in milliseconds since 1970. */
  readonly used: number;
}

/**
 * Removes the least recently used files until at most `target` bytes remain, and orphaned temporary files of killed
 * processes. Other files are not touched. Several processes can sweep at the same time.
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

/** Returns whether an error means that a file does not exist (ENOENT). */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Returns the cached files. Also removes abandoned temporary files. */
async function cachedFiles(folder: string, { names, signal }: SweepOptions): Promise<CachedFile[]> {
  const files: CachedFile[] = [];
  // A removed folder contains nothing to sweep.
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
