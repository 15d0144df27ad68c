import { hash } from 'node:crypto';
import { createSemaphore } from '../concurrency/semaphore.ts';
import { createSingleFlight } from '../concurrency/single-flight.ts';
import type { Files } from '../files/files.ts';
import { StoreError } from '../model/error.ts';
import type { Cancellable, FileEntry } from '../model/store.ts';
import { createCache, type Warn } from './cache.ts';
import { asStoreError, decodeFailure, encodeFailure, isFailure, RenderError, requireUsableSize } from './errors.ts';
import { MAX_DRAWING_MEMORY } from './limits.ts';
import { needsProcess, readSource, startRender } from './render.ts';

/** Draws and caches the thumbnails of the files of one store. */
export interface Thumbnails {
  /**
   * Returns the JPEG thumbnail of the version of the file that `file` describes, 320 × 320 pixels. Callers share the
   * bytes and must not change them. A failure that the image itself causes is cached as well.
   *
   * Rejects at once with the abort reason of `signal`, and with any error of reading the file.
   *
   * @throws invalid-request if the file is not a readable image in a supported format
   * @throws too-large if the file exceeds 50 MB, or the image exceeds the limits of pixels, time or memory
   * @throws condition-failed if the file has changed
   * @throws unavailable if the queue is full, the server runs out of memory, or after `close`
   */
  get(file: FileEntry, options?: Cancellable): Promise<Buffer>;
  /** Returns the thumbnail if it is in memory. */
  peek(file: FileEntry): Buffer | undefined;
  /** Returns the number of queued images. */
  waiting(): number;
  /** Aborts all requests with `unavailable`. Resolves when all renders and writes have ended. */
  close(): Promise<void>;
}

export interface ThumbnailsOptions {
  readonly files: Pick<Files, 'read'>;
  /** The cache folder. Created if missing, with access for the owner only. Shared by processes and across restarts. */
  readonly cacheFolder: string;
  /** Maximum bytes in `cacheFolder`. 0 caches thumbnails in memory only and leaves the folder unused. */
  readonly cacheSize: number;
  /** Maximum parallel renders in this process. Eight times as many, and at least 64, can be queued. */
  readonly renders: number;
  /** Maximum parallel drawing processes. Default: 1. */
  readonly drawings?: number;
  /** Maximum memory of each drawing process, in bytes. */
  readonly memoryLimit?: number;
  /** Called when the cache can't be read or written, which fails no request. */
  readonly warn?: Warn;
  /** Called with the source of each thumbnail that is returned, and for each failure. */
  readonly given?: (from: 'memory' | 'cache' | 'render' | 'failed') => void;
  /** Time limit of one render, in milliseconds. Default: 10,000. */
  readonly renderTimeLimit?: number;
}

/**
 * The version of the rendering, a part of each cache key and ETag. Increase it when the output for an image changes.
 */
const RENDERING = 1;

/** Minimum length of the queue. A grid view in a browser requests as many thumbnails at once over HTTP/2. */
const SHORTEST_QUEUE = 64;

const RENDER_TIME_LIMIT = 10_000;

/**
 * Time limit for reading a source, in milliseconds. Besides the timeouts of stores, it ensures that slots are freed.
 */
const READ_TIME_LIMIT = 60_000;

/** Returns the ETag of a thumbnail, without quotes. It is unique per version of the file and of the rendering. */
export function thumbnailEtag(file: FileEntry): string {
  return `${file.etag}-thumb${RENDERING}`;
}

export function createThumbnails(options: ThumbnailsOptions): Thumbnails {
  const { files, cacheFolder, cacheSize, renders, warn = () => {}, given = () => {} } = options;
  const { renderTimeLimit = RENDER_TIME_LIMIT, drawings = 1, memoryLimit = MAX_DRAWING_MEMORY } = options;
  const limits = { timeLimit: renderTimeLimit, memoryLimit };
  const cache = createCache({ folder: cacheFolder, size: cacheSize, warn });
  const renderSlots = createSemaphore({
    limit: renders,
    maxWaiting: Math.max(SHORTEST_QUEUE, 8 * renders),
    busyMessage: 'Too many thumbnails are asked for',
  });
  // Only renders wait here, so the queue is never full.
  const processSlots = createSemaphore({
    limit: drawings,
    maxWaiting: renders,
    busyMessage: 'Too many large images are drawn',
  });
  const flights = createSingleFlight<Buffer>();
  const closed = new StoreError('unavailable', 'The service is stopping. Try again in a second.', { retryAfter: 1 });
  let isClosed = false;

  const render = async (file: FileEntry, signal: AbortSignal): Promise<Buffer> => {
    const release = await renderSlots.acquire(signal);
    // The semaphore slot is released only when the render has ended, which can be after the response.
    let ended = Promise.resolve();
    let releaseProcess = () => {};
    try {
      const image = await readSource(files, file, { signal, timeLimit: READ_TIME_LIMIT });
      const isApart = needsProcess(image);
      if (isApart) releaseProcess = await processSlots.acquire(signal);
      const rendering = startRender(image, { ...limits, signal, isApart });
      ended = rendering.ended;
      return await rendering.thumbnail;
    } finally {
      void ended.then(releaseProcess).then(release);
    }
  };

  /**
   * Returns the thumbnail in a cache entry. Throws a valid cached failure, and returns undefined for an expired one.
   */
  const resultOf = (entry: Buffer | undefined, file: FileEntry): Buffer | undefined => {
    if (!entry || !isFailure(entry)) return entry;
    const failure = decodeFailure(entry, { memoryLimit, now: Date.now() });
    if (failure) throw asStoreError(failure, file.path, limits);
    return undefined;
  };

  const make = async (file: FileEntry, key: string, signal: AbortSignal): Promise<Buffer> => {
    try {
      const cached = resultOf(await cache.get(key), file);
      if (cached) {
        given('cache');
        return cached;
      }
      const thumbnail = await render(file, signal);
      cache.set(key, thumbnail);
      given('render');
      return thumbnail;
    } catch (error) {
      if (signal.aborted) throw error;
      given('failed');
      const failure = error instanceof RenderError && encodeFailure(error, { memoryLimit, now: Date.now() });
      if (failure) cache.set(key, failure);
      throw asStoreError(error, file.path, limits);
    }
  };

  const peek = (key: string) => {
    const known = cache.peek(key);
    if (!known || isFailure(known)) return undefined;
    given('memory');
    return known;
  };

  return {
    peek: (file) => (isClosed ? undefined : peek(keyOf(file))),

    async get(file, { signal } = {}) {
      signal?.throwIfAborted();
      if (isClosed) throw closed;
      requireUsableSize(file);
      const key = keyOf(file);
      return peek(key) ?? flights.run(key, (cancel) => make(file, key, cancel), signal);
    },

    waiting: () => renderSlots.waiting(),

    async close() {
      isClosed = true;
      await flights.abort(closed);
      await Promise.all([renderSlots.idle(), processSlots.idle()]);
      await cache.close();
    },
  };
}

function keyOf(file: FileEntry): string {
  return hash('sha256', `${RENDERING}\0${file.path}\0${file.etag}`);
}
