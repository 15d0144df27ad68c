import { hash } from 'node:crypto';
import { createSemaphore, type Semaphore } from '../concurrency/semaphore.ts';
import { createSingleFlight } from '../concurrency/single-flight.ts';
import type { Files } from '../files/files.ts';
import type { Cancellable, FileEntry } from '../model/store.ts';
import { shuttingDown } from '../model/store-errors.ts';
import { createCache, type ThumbnailCache, type Warn } from './cache.ts';
import {
  asStoreError,
  decodeFailure,
  encodeFailure,
  type FailureConditions,
  isFailure,
  noProgramFor,
  RenderError,
  type RenderLimits,
  requireUsableSize,
} from './errors.ts';
import { MAX_CHILD_MEMORY_BYTES } from './limits.ts';
import type { StillKind } from './programs.ts';
import { needsChildProcess, readSource, startRender } from './render.ts';
import { nameOfRendition, type Rendition, THUMBNAIL } from './renditions.ts';
import type { SandboxProtection } from './sandbox.ts';
import { drawStill, stillKindOf } from './stills.ts';

/** What a thumbnail is drawn from. */
export interface ImageSource {
  readonly read: Files['read'];
}

export type RenditionOptions = {
  /** Default: the thumbnail. */
  readonly rendition?: Rendition;
  /** Reads a version that is not the current content of the file. Default: the files of the store. */
  readonly source?: ImageSource | undefined;
} & Cancellable;

/** Draws and caches the thumbnails and previews of the files of one store. */
export interface Thumbnails {
  /**
   * Returns a rendition of the version of the file that `file` describes. Callers share the bytes and must not change
   * them. A failure that the image itself causes is cached as well.
   *
   * Rejects at once with the abort reason of `signal`, and with any error of reading the file.
   *
   * @throws invalid-request if the file is not a readable image in a supported format
   * @throws too-large if the file exceeds 50 MB, or the image exceeds the limits of pixels, time or memory
   * @throws condition-failed if the file has changed
   * @throws unavailable if the queue is full, the server is busy or out of memory, or after `close`
   */
  get(file: FileEntry, options?: RenditionOptions): Promise<Buffer>;
  /** Returns the rendition if it is in memory. Default: the thumbnail. */
  peek(file: FileEntry, rendition?: Rendition): Buffer | undefined;
  /** The kinds of files other than images that are drawn. */
  readonly stills: readonly StillKind[];
  /** Returns the number of queued images. */
  queueLength(): number;
  /** Aborts all requests with `unavailable`. Resolves when all renders and writes have ended. */
  close(): Promise<void>;
}

export interface ThumbnailsOptions {
  readonly files: ImageSource;
  /** The cache folder. Created if missing, with access for the owner only. Shared by processes and across restarts. */
  readonly cacheFolder: string;
  /** Maximum bytes in `cacheFolder`. 0 caches thumbnails in memory only and leaves the folder unused. */
  readonly cacheSize: number;
  /** The kinds of files that programs on this machine draw. Default: none. */
  readonly stills?: readonly StillKind[];
  /** What the sandbox of these programs supports. Default: all of it. */
  readonly protection?: SandboxProtection | undefined;
  /** Maximum parallel renders in this process. Eight times as many, and at least 64, can be queued. */
  readonly maxRenders: number;
  /** Maximum parallel child processes. Default: 1. */
  readonly maxChildProcesses?: number;
  /** Maximum memory of each child process, in bytes. */
  readonly memoryLimit?: number;
  /** Called when the cache can't be read or written, which fails no request. */
  readonly warn?: Warn;
  /** Called with the source of each thumbnail that is returned, and for each failure. */
  readonly onServed?: (source: 'memory' | 'cache' | 'render' | 'failed') => void;
  /** Maximum CPU time of the process that draws an image, in milliseconds. Default: 10,000. */
  readonly cpuTimeMs?: number;
  /** Milliseconds until a render is ended that had not enough CPU time to finish. Default: 30,000. */
  readonly deadlineMs?: number;
}

/** Minimum length of the queue. A grid view in a browser requests as many thumbnails at once over HTTP/2. */
const MIN_QUEUE_LENGTH = 64;

const MAX_CPU_MS = 10_000;
const DEADLINE_MS = 30_000;

/**
 * Timeout for reading a source, in milliseconds. Frees the slot even if a store's own timeout fails to.
 */
const READ_TIMEOUT_MS = 60_000;

/** Returns the ETag of a rendition, without quotes. It is unique per version of the file and of the drawing. */
export function renditionEtag(file: FileEntry, rendition: Rendition): string {
  return `${file.etag}-${nameOfRendition(rendition)}`;
}

export function createThumbnails(options: ThumbnailsOptions): Thumbnails {
  return new CachedThumbnails(options);
}

class CachedThumbnails implements Thumbnails {
  readonly stills: readonly StillKind[];
  readonly #cache: ThumbnailCache;
  readonly #renderer: ThumbnailRenderer;
  readonly #limits: RenderLimits;
  readonly #onServed: NonNullable<ThumbnailsOptions['onServed']>;
  readonly #flights = createSingleFlight<Buffer>();
  readonly #closed = shuttingDown();
  #isClosed = false;

  constructor(options: ThumbnailsOptions) {
    const { cacheFolder, cacheSize, warn = () => {}, onServed = () => {} } = options;
    const { cpuTimeMs = MAX_CPU_MS, deadlineMs = DEADLINE_MS, memoryLimit = MAX_CHILD_MEMORY_BYTES } = options;
    this.stills = options.stills ?? [];
    this.#cache = createCache({ folder: cacheFolder, size: cacheSize, warn });
    this.#limits = { cpuTimeMs, deadlineMs, memoryLimitBytes: memoryLimit };
    this.#renderer = new ThumbnailRenderer(options, { cache: this.#cache, limits: this.#limits });
    this.#onServed = onServed;
  }

  peek(file: FileEntry, rendition = THUMBNAIL): Buffer | undefined {
    return this.#isClosed ? undefined : this.#peek(cacheKeyOf(file, rendition, stillKindOf(file, this.stills)));
  }

  async get(file: FileEntry, { rendition = THUMBNAIL, source, signal }: RenditionOptions = {}): Promise<Buffer> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw this.#closed;
    const kind = stillKindOf(file, this.stills);
    requireUsableSize(file, kind);
    if (kind && !this.stills.includes(kind)) throw noProgramFor(file, kind);
    const key = cacheKeyOf(file, rendition, kind);
    const make = (flightSignal: AbortSignal) => this.#make(file, key, { rendition, source, signal: flightSignal });
    return this.#peek(key) ?? this.#flights.run(key, make, signal);
  }

  queueLength(): number {
    return this.#renderer.queueLength();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#flights.abort(this.#closed);
    await this.#renderer.idle();
    await this.#cache.close();
  }

  #peek(key: string): Buffer | undefined {
    const entry = this.#cache.peek(key);
    if (!entry || isFailure(entry)) return undefined;
    this.#onServed('memory');
    return entry;
  }

  async #make(file: FileEntry, key: string, request: RenderRequest): Promise<Buffer> {
    try {
      const cached = this.#resultOf(await this.#cache.get(key), file);
      if (cached) {
        this.#onServed('cache');
        return cached;
      }
      const drawn = await this.#renderer.render(file, request);
      this.#cache.set(key, drawn);
      this.#onServed('render');
      return drawn;
    } catch (error) {
      if (request.signal.aborted) throw error;
      this.#onServed('failed');
      const failure = error instanceof RenderError && encodeFailure(error, this.#failureConditions());
      if (failure) this.#cache.set(key, failure);
      throw asStoreError(error, file.path, this.#limits);
    }
  }

  /**
   * Returns the rendition in a cache entry. Throws a valid cached failure, and returns undefined for an expired one.
   */
  #resultOf(entry: Buffer | undefined, file: FileEntry): Buffer | undefined {
    if (!entry || !isFailure(entry)) return entry;
    const failure = decodeFailure(entry, this.#failureConditions());
    if (failure) throw asStoreError(failure, file.path, this.#limits);
    return undefined;
  }

  #failureConditions(): FailureConditions {
    return { memoryLimit: this.#limits.memoryLimitBytes, now: Date.now() };
  }
}

interface RenderRequest {
  readonly rendition: Rendition;
  readonly source: ImageSource | undefined;
  readonly signal: AbortSignal;
}

/** Draws renditions within the limits of parallel renders and child processes. */
class ThumbnailRenderer {
  readonly #files: ImageSource;
  readonly #cache: ThumbnailCache;
  readonly #limits: RenderLimits;
  readonly #renders: Semaphore;
  readonly #childProcesses: Semaphore;
  readonly #stills: readonly StillKind[];
  readonly #protection: SandboxProtection | undefined;

  constructor(
    { files, stills = [], protection, maxRenders, maxChildProcesses = 1 }: ThumbnailsOptions,
    { cache, limits }: { readonly cache: ThumbnailCache; readonly limits: RenderLimits },
  ) {
    this.#files = files;
    this.#stills = stills;
    this.#protection = protection;
    this.#cache = cache;
    this.#limits = limits;
    this.#renders = createSemaphore({
      limit: maxRenders,
      maxWaiting: Math.max(MIN_QUEUE_LENGTH, 8 * maxRenders),
      busyMessage: 'Too many thumbnail requests',
    });
    // Only renders wait here, so the queue is never full.
    this.#childProcesses = createSemaphore({
      limit: maxChildProcesses,
      maxWaiting: maxRenders,
      busyMessage: 'Too many renders of large images',
    });
  }

  async render(file: FileEntry, { rendition, source = this.#files, signal }: RenderRequest): Promise<Buffer> {
    const releaseRender = await this.#renders.acquire(signal);
    // The slots are released only when the render has ended, which can be after the response.
    let ended = Promise.resolve();
    let releaseChildProcess = () => {};
    try {
      const kind = stillKindOf(file, this.#stills);
      const image = kind
        ? await this.#still(source, file, { kind, signal })
        : await readSource(source, file, { signal, timeoutMs: READ_TIMEOUT_MS });
      const inChildProcess = needsChildProcess(image, rendition);
      if (inChildProcess) releaseChildProcess = await this.#childProcesses.acquire(signal);
      const render = startRender(image, { ...this.#limits, rendition, signal, inChildProcess });
      ended = render.ended;
      return await render.drawn;
    } finally {
      void ended.then(releaseChildProcess).then(releaseRender);
    }
  }

  /** Returns the still of a video or PDF, from which all of its renditions are drawn. The caller may free its bytes. */
  async #still(
    source: ImageSource,
    file: FileEntry,
    { kind, signal }: { readonly kind: StillKind; readonly signal: AbortSignal },
  ): Promise<Buffer<ArrayBuffer>> {
    const key = hash('sha256', `${STILL_NAME}\0${file.path}\0${file.etag}`);
    const cached = await this.#cache.get(key);
    if (cached) return copyOf(cached);
    const release = await this.#childProcesses.acquire(signal);
    try {
      const options = { ...this.#limits, kind, protection: this.#protection, signal, readTimeoutMs: READ_TIMEOUT_MS };
      const still = await drawStill(source, file, options);
      this.#cache.set(key, copyOf(still));
      return still;
    } finally {
      release();
    }
  }

  queueLength(): number {
    return this.#renders.waiting();
  }

  /** Resolves when no render is in progress. */
  async idle(): Promise<void> {
    await Promise.all([this.#renders.idle(), this.#childProcesses.idle()]);
  }
}

/** The name of stills in cache keys. Increase its number when the stills of a file change. */
const STILL_NAME = 'still1';

/** Returns a copy in an `ArrayBuffer` of its own. */
function copyOf(bytes: Buffer): Buffer<ArrayBuffer> {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** A HEIC image has another key as a still: without the program, its failure can be cached. */
function cacheKeyOf(file: FileEntry, rendition: Rendition, kind: StillKind | undefined): string {
  const drawnBy = kind === 'heic' ? `${kind}\0` : '';
  return hash('sha256', `${drawnBy}${nameOfRendition(rendition)}\0${file.path}\0${file.etag}`);
}
