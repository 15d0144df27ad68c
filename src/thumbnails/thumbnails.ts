import { hash } from 'node:crypto';
import { createSingleFlight } from '../cache/single-flight.ts';
import { StoreError } from '../domain/error.ts';
import type { Files } from '../domain/files.ts';
import { createPlaces } from '../domain/places.ts';
import type { Cancellable, FileEntry } from '../domain/store.ts';
import { createCache } from './cache.ts';
import type { Warn } from './disk-cache.ts';
import { asStoreError, requireUsableSize } from './problems.ts';
import { startRender } from './render.ts';
import { readSource } from './source.ts';

/** Thumbnails of the files of one store, cached. */
export interface Thumbnails {
  /**
   * The JPEG thumbnail of the version of the file that `file` describes, 320 × 320 pixels. The bytes are shared with
   * others who ask: don't change them.
   *
   * `invalid-request` when the file is no image that can be read; `too-large` over 50 MB, 100 megapixels or the time
   * limit; `condition-failed` when the file is another version by now; `unavailable` when too many wait already, or
   * after `close`; and whatever reading the file throws. Rejects at once with the reason of `signal` when it aborts.
   */
  get(file: FileEntry, options?: Cancellable): Promise<Buffer>;
  /** What `get` would give, where it is in memory. */
  peek(file: FileEntry): Buffer | undefined;
  /** How many images wait to be drawn. */
  waiting(): number;
  /** Ends the work under way, whose askers get `unavailable`. When it resolves, nothing is left running. */
  close(): Promise<void>;
}

export interface ThumbnailsOptions {
  readonly files: Pick<Files, 'read'>;
  /** Where thumbnails are kept; made when missing, for its owner alone. Processes and restarts share it. */
  readonly cacheFolder: string;
  /** Bytes in `cacheFolder`; 0 keeps thumbnails in memory only, and the folder is not touched. */
  readonly cacheSize: number;
  /** How many images are rendered at once by this process. Eight times as many may wait, and no fewer than 64. */
  readonly renders: number;
  /** Is told when the cache can't be read or written, which fails no request. */
  readonly warn?: Warn;
  /** Is told of each thumbnail that is given where it came from, and of each that can't be made. */
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
  const { renderTimeLimit = RENDER_TIME_LIMIT } = options;
  const cache = createCache({ folder: cacheFolder, size: cacheSize, warn });
  const places = createPlaces({
    places: renders,
    queue: Math.max(SHORTEST_QUEUE, 8 * renders),
    crowd: 'Too many thumbnails are asked for',
  });
  const flights = createSingleFlight<Buffer>();
  const closed = new StoreError('unavailable', 'The service is stopping. Try again in a second.', { retryAfter: 1 });
  let isClosed = false;

  const render = async (file: FileEntry, signal: AbortSignal): Promise<Buffer> => {
    const leave = await places.enter(signal);
    // The place is held until nothing runs in it, also when the answer is given before.
    let ended = Promise.resolve();
    try {
      const image = await readSource(files, file, { signal, timeLimit: READ_TIME_LIMIT });
      const rendering = startRender(image, { timeLimit: renderTimeLimit, signal });
      ended = rendering.ended;
      return await rendering.thumbnail;
    } catch (error) {
      throw asStoreError(error, file.path, renderTimeLimit);
    } finally {
      void ended.then(leave);
    }
  };

  const make = async (file: FileEntry, key: string, signal: AbortSignal): Promise<Buffer> => {
    const cached = await cache.get(key);
    if (cached) {
      given('cache');
      return cached;
    }
    try {
      const thumbnail = await render(file, signal);
      cache.set(key, thumbnail);
      given('render');
      return thumbnail;
    } catch (error) {
      if (!signal.aborted) given('failed');
      throw error;
    }
  };

  const peek = (key: string) => {
    const known = cache.peek(key);
    if (known) given('memory');
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
      await places.free();
      await cache.close();
    },
  };
}

function keyOf(file: FileEntry): string {
  return hash('sha256', `${RENDERING}\0${file.path}\0${file.etag}`);
}
