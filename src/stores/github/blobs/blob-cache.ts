import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { type CacheFolder, createCacheFolder, targetSize } from '../../../cache/cache-folder.ts';
import { untilAborted } from '../../../concurrency/single-flight.ts';
import { asError } from '../../../model/error.ts';
import type { ResolvedRange } from '../../../model/range.ts';
import type { Cancellable } from '../../../model/store.ts';
import { shuttingDown } from '../../../model/store-errors.ts';
import { type Blob, CachedBlobs } from './cached-blobs.ts';
import { download, inCacheFolder, TailableFile } from './download.ts';

/** Milliseconds without data after which a download is aborted. */
const STALL_TIMEOUT_MS = 60_000;

/** Requests all bytes of a blob from GitHub. Has its own timeouts, and settles soon after `signal` aborts. */
export type Fetch = (signal: AbortSignal) => Promise<Readable>;

export interface BlobCacheOptions {
  /** Created if missing, accessible only to its owner. */
  readonly folder: string;
  /** Maximum bytes in `folder`; 0 caches nothing. Blobs close to this size or larger are not cached. */
  readonly size: number;
  /** Called when the cache can't be read, written or swept although no request fails because of it. */
  readonly warn: (message: string, details: object) => void;
  /** Milliseconds without data after which a download is aborted. Default: `STALL_TIMEOUT_MS` */
  readonly stallAfter?: number;
}

/** A blob with at least one reader. */
interface OpenBlob {
  readonly file: Promise<TailableFile>;
  /** Aborted when the last reader leaves or the file fails. New readers can't join after that. */
  readonly closing: AbortController;
  readers: number;
}

/** Cache of blobs in a folder that processes share and that survives restarts. Blobs are downloaded on first use. */
export class BlobCache {
  readonly #files: BlobFiles;
  readonly #openBlobs = new Map<string, OpenBlob>();
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: BlobCacheOptions) {
    this.#files = new BlobFiles(options);
  }

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
  async open(
    blob: Blob,
    fetch: Fetch,
    { range = { start: 0, end: blob.size - 1 }, signal }: Cancellable & { readonly range?: ResolvedRange } = {},
  ): Promise<Readable> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw shuttingDown();
    if (blob.size === 0) return Readable.from([]);
    const current = this.#openBlobs.get(keyOf(blob));
    const openBlob = current && !current.closing.signal.aborted ? current : this.#start(blob, fetch);
    openBlob.readers++;
    try {
      const file = await untilAborted(openBlob.file, signal);
      signal?.throwIfAborted();
      const readable = file.read(range, () => removeReader(openBlob));
      return abortable(readable, signal);
    } catch (error) {
      removeReader(openBlob);
      throw error;
    }
  }

  /** Throws `unavailable` if the folder is not writable, because then nothing can be read. */
  check(): Promise<void> {
    return this.#files.check();
  }

  /**
   * Aborts all downloads; their readers get `unavailable`. Resolves when all files are closed and nothing is in
   * progress.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { closing } of this.#openBlobs.values()) closing.abort(shuttingDown());
    await Promise.all(this.#running);
    await this.#files.close();
  }

  #start(blob: Blob, fetch: Fetch): OpenBlob {
    const { promise: file, resolve, reject } = Promise.withResolvers<TailableFile>();
    const closing = new AbortController();
    const key = keyOf(blob);
    const openBlob = { file, closing, readers: 0 };
    this.#openBlobs.set(key, openBlob);
    const serving = this.#files.serve(blob, fetch, { closing, onOpen: resolve }).finally(() => {
      reject(closing.signal.reason);
      if (this.#openBlobs.get(key) === openBlob) this.#openBlobs.delete(key);
      this.#running.delete(serving);
    });
    this.#running.add(serving);
    return openBlob;
  }
}

/**
 * Includes the size, so that an entry with a wrong, smaller size does not make readers wait for bytes that never
 * arrive.
 */
function keyOf({ sha, size }: Blob): string {
  return `${sha} ${size}`;
}

function removeReader(openBlob: OpenBlob): void {
  openBlob.readers--;
  if (openBlob.readers === 0) openBlob.closing.abort(new DOMException('No reader is left.', 'AbortError'));
}

/** Returns the same stream, which fails with the reason of `signal` when that aborts. */
function abortable(readable: Readable, signal: AbortSignal | undefined): Readable {
  // The stream might fail before the caller listens to it. The caller still gets the error; without a listener, it
  // would end the process.
  readable.on('error', () => {});
  if (!signal) return readable;
  const abort = () => readable.destroy(asError(signal.reason));
  signal.addEventListener('abort', abort, { once: true });
  readable.once('close', () => signal.removeEventListener('abort', abort));
  return readable;
}

/** Connects `BlobFiles.serve` with the readers of its file. */
interface Session {
  readonly closing: AbortController;
  readonly onOpen: (file: TailableFile) => void;
}

const SHA = /^[0-9a-f]{40}$/;

/** The files that blobs are read from: cached files, and new files that are read during the download. */
class BlobFiles {
  readonly #options: BlobCacheOptions;
  readonly #cache: CacheFolder;
  readonly #cached: CachedBlobs;
  readonly #folderCreated: Promise<unknown>;

  constructor(options: BlobCacheOptions) {
    const { folder, size, warn } = options;
    this.#options = options;
    this.#cache = createCacheFolder({
      path: folder,
      size,
      names: SHA,
      warn: this.#warnAbout('The cache folder (CACHE_DIR) could not be cleaned up.'),
    });
    this.#cached = new CachedBlobs(folder, warn);
    this.#folderCreated = this.#cache
      .make()
      .catch(this.#warnAbout('The cache folder (CACHE_DIR) could not be created.'));
  }

  /**
   * Opens a blob in a file until `closing` aborts, and passes the file to `onOpen` as soon as it is readable. On
   * failure, aborts `closing` with the error. Resolves when the file is closed; never rejects.
   */
  async serve(blob: Blob, fetch: Fetch, { closing, onOpen }: Session): Promise<void> {
    try {
      if (!SHA.test(blob.sha)) throw new Error(`${blob.sha} is not the sha of a blob.`);
      const file = await this.#cached.open(blob);
      if (file) await serveFile(file, blob, closing, async (complete) => onOpen(complete));
      else await this.#serveDownload(blob, fetch, { closing, onOpen });
    } catch (error) {
      closing.abort(error);
    }
  }

  /** Throws `unavailable` if the folder is not writable. */
  async check(): Promise<void> {
    const { file, discard } = await inCacheFolder(this.#createFile());
    await discard();
    await file.close();
  }

  /** Resolves when the folder is no longer used. */
  async close(): Promise<void> {
    const swept = this.#cache.close();
    await this.#folderCreated;
    await swept;
  }

  async #serveDownload(blob: Blob, fetch: Fetch, { closing, onOpen }: Session): Promise<void> {
    const { size, stallAfter = STALL_TIMEOUT_MS } = this.#options;
    const { file, keep, discard } = await inCacheFolder(this.#createFile());
    const isCacheable = blob.size <= targetSize(size);
    try {
      if (!isCacheable) await discard();
      await serveFile(file, blob, closing, async (tailable) => {
        const body = await fetch(closing.signal);
        if (closing.signal.aborted) body.destroy();
        closing.signal.throwIfAborted();
        onOpen(tailable);
        await download(body, blob, tailable, { signal: closing.signal, stallAfter });
        if (!isCacheable) return;
        await keep(blob.sha, blob.size).then(
          () => this.#cached.markVerified(blob, file),
          this.#warnAbout('A file could not be cached (CACHE_DIR).'),
        );
      });
    } finally {
      await discard();
    }
  }

  async #createFile() {
    // The folder might have been deleted since the start.
    await this.#cache.make();
    return this.#cache.create();
  }

  #warnAbout(message: string): (error: unknown) => void {
    const { folder, warn } = this.#options;
    return (error) => warn(message, { folder, err: error });
  }
}

/** Makes a file readable while `fill` writes it and until `closing` aborts, then closes it. */
async function serveFile(
  file: FileHandle,
  { size }: Blob,
  closing: AbortController,
  fill: (tailable: TailableFile) => Promise<void>,
): Promise<void> {
  const { signal } = closing;
  const tailable = new TailableFile(file, size);
  try {
    signal.throwIfAborted();
    signal.addEventListener('abort', () => tailable.fail(signal.reason), { once: true });
    await fill(tailable);
    tailable.finish();
    if (!signal.aborted) await once(signal, 'abort');
  } catch (error) {
    // Abort before the file is closed, so that no reader uses it afterwards.
    closing.abort(error);
  } finally {
    await file.close();
  }
}
