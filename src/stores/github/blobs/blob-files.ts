import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createCacheFolder, largestKept } from '../../../cache/cache-folder.ts';
import type { Blob } from './blob.ts';
import { download, onDisk } from './download.ts';
import { createGrowingFile, type GrowingFile } from './growing-file.ts';
import { createKeptBlobs } from './kept-blobs.ts';

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
  readonly opened: (file: GrowingFile) => void;
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
  fill: (growing: GrowingFile) => Promise<void>,
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
