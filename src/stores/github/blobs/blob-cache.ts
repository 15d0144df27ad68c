import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createCacheFolder, largestKept } from '../../../cache/cache-folder.ts';
import { untilAborted } from '../../../concurrency/single-flight.ts';
import { asError } from '../../../model/error.ts';
import type { ResolvedRange } from '../../../model/range.ts';
import type { Cancellable } from '../../../model/store.ts';
import { shuttingDown } from '../../network.ts';
import { createGrowingFile, download, onDisk, type TailableFile } from './download.ts';
import { type Blob, createKeptBlobs } from './kept-blobs.ts';

/** Blobs, fetched from their host when first asked for and kept in a folder, which processes and restarts share. */
export interface BlobCache {
  /**
   * The bytes of a blob, or those of `range`. Settles when the file is open or `fetch` has settled, so that what can't
   * be had is known before any byte goes out. Readers of a blob that is on its way share one download; each goes at its
   * own pace, and `fetch` and what it gave are ended when no reader is left. The last byte of a blob comes when its sha
   * was found right.
   *
   * Rejects, or the stream fails, with what `fetch` rejects with; with `unavailable` when the host breaks off, stalls or
   * sends other bytes, when the folder is full or can't be written to, and after `close`; with the reason of `signal` at
   * once. The next reader after a failure starts anew.
   *
   * The stream has a file open until it has ended or is destroyed.
   */
  open(blob: Blob, fetch: Fetch, options?: Cancellable & { readonly range?: ResolvedRange }): Promise<Readable>;
  /** Throws `unavailable` where nothing can be read, because the folder can't be written to. */
  check(): Promise<void>;
  /** Ends what is under way, whose readers get `unavailable`. When it resolves, no file is open and nothing runs. */
  close(): Promise<void>;
}

export type BlobCacheOptions = Omit<BlobFilesOptions, 'stallAfter'> & Partial<Pick<BlobFilesOptions, 'stallAfter'>>;

const STALL_AFTER = 60_000;

/** A blob that somebody reads or waits for. */
interface BlobInUse {
  readonly opened: Promise<TailableFile>;
  /** Aborts when no reader is left or the file failed. Nobody may begin to read it then. */
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

/** The size is part of it, so that nobody waits for bytes behind the end of a blob that was called smaller by others. */
function keyOf({ sha, size }: Blob): string {
  return `${sha} ${size}`;
}

function leave(use: BlobInUse): void {
  use.readers--;
  if (use.readers === 0) use.over.abort(new DOMException('Nobody reads the file any more.', 'AbortError'));
}

/** The same stream, which fails with the reason of `signal` when that aborts. */
function endedBy(signal: AbortSignal | undefined, readable: Readable): Readable {
  // It may fail before whoever asked listens to it, who learns of that all the same: no reason to end the process.
  readable.on('error', () => {});
  if (!signal) return readable;
  const abort = () => readable.destroy(asError(signal.reason));
  signal.addEventListener('abort', abort, { once: true });
  readable.once('close', () => signal.removeEventListener('abort', abort));
  return readable;
}

/** Asks the host for all bytes of a blob. Has time limits of its own, and settles soon after `signal` aborts. */
export type Fetch = (signal: AbortSignal) => Promise<Readable>;

/** The files that blobs are read from: those that were kept, and new ones that are filled while they are read. */
export interface BlobFiles {
  /**
   * Has a blob in an open file until `over` aborts, and gives that to `opened` as soon as it is known that it can be
   * read. Aborts `over` with the error itself when something fails. Resolves when the file is closed, and never rejects.
   */
  lend(blob: Blob, fetch: Fetch, lent: Lent): Promise<void>;
  /** Throws `unavailable` where the folder can't be written to. */
  check(): Promise<void>;
  /** Resolves when the folder is left alone. */
  close(): Promise<void>;
}

/** How the one who lends a file and the readers hear of each other. */
interface Lent {
  readonly over: AbortController;
  readonly opened: (file: TailableFile) => void;
}

export interface BlobFilesOptions {
  /** Made when missing, for its owner alone. */
  readonly folder: string;
  /** Bytes that are kept in `folder`; 0 keeps nothing. What comes near to it or is larger is not kept either. */
  readonly size: number;
  /** Is told when the cache can't be read, written or swept though no request fails for it. */
  readonly warn: (message: string, details: object) => void;
  /** Milliseconds without a byte after which a download is given up. */
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
    // The folder may have been removed by hand since the start.
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

/** Lets a file be read, while `fill` fills it and then until `over` aborts, and closes it. */
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
    // Before the file is closed: nobody may read from it then.
    over.abort(error);
  } finally {
    await file.close();
  }
}
