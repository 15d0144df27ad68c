import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createCacheFolder, largestKept } from '../../../cache/cache-folder.ts';
import { untilAborted } from '../../../concurrency/single-flight.ts';
import { asError } from '../../../model/error.ts';
import type { ResolvedRange } from '../../../model/range.ts';
import type { Cancellable } from '../../../model/store.ts';
import { shuttingDown } from '../../../model/store-errors.ts';
import { createGrowingFile, download, onDisk, type TailableFile } from './download.ts';
import { type Blob, createKeptBlobs } from './kept-blobs.ts';

/** Cache of blobs in a folder that processes share and that survives restarts. Blobs are downloaded on first use. */
export interface BlobCache {
  /**
   * Opens a blob, or a `range` of it. Resolves when the file is open or `fetch` has settled, so that errors of GitHub
   * are reported before the first byte is sent. Concurrent readers share one download, each at its own speed. When the
   * last reader leaves, the download is aborted. The last byte is delivered only after the SHA was verified.
   *
   * Rejects, or fails the stream, with the error of `fetch`. Fails with `unavailable` if GitHub ends the response
   * early, stalls or sends different bytes; if the folder is full or not writable; and after `close`. Aborting `signal`
   * fails at once with its reason. The first reader after a failure starts a new download.
   *
   * The stream holds an open file until it ends or is destroyed.
   */
  open(blob: Blob, fetch: Fetch, options?: Cancellable & { readonly range?: ResolvedRange }): Promise<Readable>;
  /** Throws `unavailable` if the folder is not writable, because then nothing can be read. */
  check(): Promise<void>;
  /**
   * Aborts all downloads; their readers get `unavailable`. Resolves when all files are closed and nothing is in
   * progress.
   */
  close(): Promise<void>;
}

export type BlobCacheOptions = Omit<BlobFilesOptions, 'stallAfter'> & Partial<Pick<BlobFilesOptions, 'stallAfter'>>;

const STALL_AFTER = 60_000;

/** A blob with at least one reader. */
interface BlobInUse {
  readonly opened: Promise<TailableFile>;
  /** Aborted when the last reader leaves or the file fails. New readers can't join after that. */
  readonly over: AbortController;
  readers: number;
}

export function createBlobCache({ stallAfter = STALL_AFTER, ...options }: BlobCacheOptions): BlobCache {
  const files = createBlobFiles({ ...options, stallAfter });
  const inUse = new Map<string, BlobInUse>();
  const running = new Set<Promise<void>>();
  let isClosed = false;

  const begin = (blob: Blob, fetch: Fetch): BlobInUse => {
    const { promise: opened, resolve, reject } = Promise.withResolvers<TailableFile>();
    const over = new AbortController();
    const key = keyOf(blob);
    const use = { opened, over, readers: 0 };
    inUse.set(key, use);
    const run = files.lend(blob, fetch, { over, opened: resolve }).finally(() => {
      reject(over.signal.reason);
      if (inUse.get(key) === use) inUse.delete(key);
      running.delete(run);
    });
    running.add(run);
    return use;
  };

  return {
    async open(blob, fetch, { range = { start: 0, end: blob.size - 1 }, signal } = {}) {
      signal?.throwIfAborted();
      if (isClosed) throw shuttingDown();
      if (blob.size === 0) return Readable.from([]);
      const current = inUse.get(keyOf(blob));
      const use = current && !current.over.signal.aborted ? current : begin(blob, fetch);
      use.readers++;
      try {
        const file = await untilAborted(use.opened, signal);
        signal?.throwIfAborted();
        return endedBy(
          signal,
          file.read(range, () => leave(use)),
        );
      } catch (error) {
        leave(use);
        throw error;
      }
    },

    check: () => files.check(),

    async close() {
      isClosed = true;
      for (const { over } of inUse.values()) over.abort(shuttingDown());
      await Promise.all(running);
      await files.close();
    },
  };
}

/**
 * Includes the size, so that an entry with a wrong, smaller size does not make readers wait for bytes that never
 * arrive.
 */
function keyOf({ sha, size }: Blob): string {
  return `${sha} ${size}`;
}

function leave(use: BlobInUse): void {
  use.readers--;
  if (use.readers === 0) use.over.abort(new DOMException('Nobody reads the file any more.', 'AbortError'));
}

/** Returns the same stream, which fails with the reason of `signal` when that aborts. */
function endedBy(signal: AbortSignal | undefined, readable: Readable): Readable {
  // The stream may fail before the caller listens to it. The caller still gets the error; without a listener, it would
  // end the process.
  readable.on('error', () => {});
  if (!signal) return readable;
  const abort = () => readable.destroy(asError(signal.reason));
  signal.addEventListener('abort', abort, { once: true });
  readable.once('close', () => signal.removeEventListener('abort', abort));
  return readable;
}

/** Requests all bytes of a blob from GitHub. Has its own timeouts, and settles soon after `signal` aborts. */
export type Fetch = (signal: AbortSignal) => Promise<Readable>;

/** The files that blobs are read from: cached files, and new files that are read during the download. */
export interface BlobFiles {
  /**
   * Opens a blob in a file until `over` aborts, and passes the file to `opened` as soon as it is readable. On failure,
   * aborts `over` with the error. Resolves when the file is closed; never rejects.
   */
  lend(blob: Blob, fetch: Fetch, lent: Lent): Promise<void>;
  /** Throws `unavailable` if the folder is not writable. */
  check(): Promise<void>;
  /** Resolves when the folder is no longer used. */
  close(): Promise<void>;
}

/** Connects `lend` with the readers of its file. */
interface Lent {
  readonly over: AbortController;
  readonly opened: (file: TailableFile) => void;
}

export interface BlobFilesOptions {
  /** Created if missing, accessible only to its owner. */
  readonly folder: string;
  /** Maximum bytes in `folder`; 0 caches nothing. Blobs close to this size or larger are not cached. */
  readonly size: number;
  /** Called when the cache can't be read, written or swept although no request fails because of it. */
  readonly warn: (message: string, details: object) => void;
  /** Milliseconds without data after which a download is aborted. */
  readonly stallAfter: number;
}

const SHA = /^[0-9a-f]{40}$/;

export function createBlobFiles({ folder, size, warn, stallAfter }: BlobFilesOptions): BlobFiles {
  const tell = (message: string) => (error: unknown) => warn(message, { folder, err: error });
  const notSwept = tell('The folder for files that were read (CACHE_DIR) could not be swept.');
  const cache = createCacheFolder({ path: folder, size, names: SHA, warn: notSwept });
  const made = cache.make().catch(tell('The folder for files that were read (CACHE_DIR) could not be made.'));
  const kept = createKeptBlobs(folder, warn);

  const createFile = async () => {
    // The folder may have been deleted since the start.
    await cache.make();
    return cache.create();
  };

  const fillBy = async (blob: Blob, fetch: Fetch, { over, opened }: Lent): Promise<void> => {
    const { file, keep, discard } = await onDisk(createFile());
    const isKept = blob.size <= largestKept(size);
    try {
      if (!isKept) await discard();
      await lendFile(file, blob, over, async (growing) => {
        const body = await fetch(over.signal);
        if (over.signal.aborted) body.destroy();
        over.signal.throwIfAborted();
        opened(growing);
        await download(body, blob, growing, { signal: over.signal, stallAfter });
        if (!isKept) return;
        await keep(blob.sha, blob.size).then(
          () => kept.trust(blob, file),
          tell('A file that was read could not be kept in the cache (CACHE_DIR).'),
        );
      });
    } finally {
      await discard();
    }
  };

  return {
    async lend(blob, fetch, { over, opened }) {
      try {
        if (!SHA.test(blob.sha)) throw new Error(`${blob.sha} is not the sha of a blob.`);
        const file = await kept.open(blob);
        if (file) await lendFile(file, blob, over, async (whole) => opened(whole));
        else await fillBy(blob, fetch, { over, opened });
      } catch (error) {
        over.abort(error);
      }
    },

    async check() {
      const { file, discard } = await onDisk(createFile());
      await discard();
      await file.close();
    },

    async close() {
      const swept = cache.close();
      await made;
      await swept;
    },
  };
}

/** Makes a file readable while `fill` writes it and until `over` aborts, then closes it. */
async function lendFile(
  file: FileHandle,
  { size }: Blob,
  over: AbortController,
  fill: (growing: TailableFile) => Promise<void>,
): Promise<void> {
  const { signal } = over;
  const growing = createGrowingFile(file, size);
  try {
    signal.throwIfAborted();
    signal.addEventListener('abort', () => growing.fail(signal.reason), { once: true });
    await fill(growing);
    growing.finish();
    if (!signal.aborted) await once(signal, 'abort');
  } catch (error) {
    // Abort before the file is closed, so that no reader uses it afterwards.
    over.abort(error);
  } finally {
    await file.close();
  }
}
