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

/** Thumbnails of the files of one store, cached. */
export interface Thumbnails {
  /**
   * Returns the JPEG thumbnail of the version of the file that `file` describes, 320 × 320 pixels. Callers share the
   * bytes and must not change them. A failure that the image itself causes is cached as well.
   *
   * @throws invalid-request if the file is not an image that can be read; too-large over 50 MB, the limits of pixels,
   * or those of time and memory; condition-failed if the file changed; unavailable if the queue is full, the server
   * runs out of memory, or after `close`; and any error of reading the file. Rejects at once when `signal` aborts.
   */
  get(file: FileEntry, options?: Cancellable): Promise<Buffer>;
  /** Returns the thumbnail if it is in memory. */
  peek(file: FileEntry): Buffer | undefined;
  /** Returns how many images wait to be drawn. */
  waiting(): number;
  /** Aborts the work in progress with `unavailable`. When it resolves, nothing is left running. */
  close(): Promise<void>;
}

export interface ThumbnailsOptions {
  readonly files: Pick<Files, 'read'>;
  /** Where thumbnails are kept; made when missing, for its owner alone. Processes and restarts share it. */
  readonly cacheFolder: string;
  /** Bytes in `cacheFolder`; 0 keeps thumbnails in memory only, and the folder is not touched. */
  readonly cacheSize: number;
  /** How many images this process renders at once. Eight times as many may wait, and at least 64. */
  readonly renders: number;
  /** Maximum separate drawing processes at once; one by default. */
  readonly drawings?: number;
  /** Maximum memory of each drawing process, in bytes. */
  readonly memoryLimit?: number;
  /** Called when the cache can't be read or written, which fails no request. */
  readonly warn?: Warn;
  /** Called with the source of each thumbnail that is returned, and for each failure. */
  readonly given?: (from: 'memory' | 'cache' | 'render' | 'failed') => void;
  /** Milliseconds that one render may take. */
  readonly renderTimeLimit?: number;
}

/** Part of what names a thumbnail: raise it when the same image is to look different from now on. */
const RENDERING = 1;

/** A page full of tiles asks for so many at once, where a proxy does not hold it to six connections. */
const SHORTEST_QUEUE = 64;

const RENDER_TIME_LIMIT = 10_000;

/** Milliseconds for reading a source. Stores have limits of their own; this one keeps a place from being lost. */
const READ_TIME_LIMIT = 60_000;

/** The etag of a file's thumbnail, without quotes: another one for every version of the file and of our rendering. */
export function thumbnailEtag(file: FileEntry): string {
  return `${file.etag}-thumb${RENDERING}`;
}

export function createThumbnails(options: ThumbnailsOptions): Thumbnails {
  const { files, cacheFolder, cacheSize, renders, warn = () => {}, given = () => {} } = options;
  const { renderTimeLimit = RENDER_TIME_LIMIT, drawings = 1, memoryLimit = MAX_DRAWING_MEMORY } = options;
  const limits = { timeLimit: renderTimeLimit, memoryLimit };
  const cache = createCache({ folder: cacheFolder, size: cacheSize, warn });
  const places = createSemaphore({
    places: renders,
    queue: Math.max(SHORTEST_QUEUE, 8 * renders),
    busyMessage: 'Too many thumbnails are asked for',
  });
  // Only renders wait here, so the queue is never full.
  const processes = createSemaphore({
    places: drawings,
    queue: renders,
    busyMessage: 'Too many large images are drawn',
  });
  const flights = createSingleFlight<Buffer>();
  const closed = new StoreError('unavailable', 'The service is stopping. Try again in a second.', { retryAfter: 1 });
  let isClosed = false;

  const render = async (file: FileEntry, signal: AbortSignal): Promise<Buffer> => {
    const leave = await places.acquire(signal);
    // A place is held until nothing runs in it, also when the request is answered before.
    let ended = Promise.resolve();
    let leaveProcess = () => {};
    try {
      const image = await readSource(files, file, { signal, timeLimit: READ_TIME_LIMIT });
      const isApart = needsProcess(image);
      if (isApart) leaveProcess = await processes.acquire(signal);
      const rendering = startRender(image, { ...limits, signal, isApart });
      ended = rendering.ended;
      return await rendering.thumbnail;
    } finally {
      void ended.then(leaveProcess).then(leave);
    }
  };

  /** The thumbnail in a cache entry, or undefined if a failure in it is no longer valid. Throws a failure that is. */
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

    waiting: () => places.waiting(),

    async close() {
      isClosed = true;
      await flights.abort(closed);
      await Promise.all([places.idle(), processes.idle()]);
      await cache.close();
    },
  };
}

function keyOf(file: FileEntry): string {
  return hash('sha256', `${RENDERING}\0${file.path}\0${file.etag}`);
}
