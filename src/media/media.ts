import { hash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { createSemaphore } from '../concurrency/semaphore.ts';
import { createSingleFlight } from '../concurrency/single-flight.ts';
import type { Files } from '../files/files.ts';
import { quoted, StoreError } from '../model/error.ts';
import { mediaTypeOf, UNKNOWN_TYPE } from '../model/presentation.ts';
import type { Cancellable, Content, FileEntry } from '../model/store.ts';
import { shuttingDown } from '../model/store-errors.ts';
import { freeMemory, recyclerOf } from '../streams/chunk-recycling.ts';
import { createCache, type ThumbnailCache, type Warn } from '../thumbnails/cache.ts';
import { fileSource } from './byte-source.ts';
import { type ImageDetails, readImageDetails } from './image-details.ts';

/** Reads and caches what the headers of images say: dimensions, time, camera, location. */
export interface MediaDetails {
  /**
   * Returns the details of the version of the file that `file` describes; undefined if it is not an image, or its header
   * is damaged. Reads at most 512 KiB of the file.
   *
   * Rejects at once with the abort reason of `signal`, and with any error of reading the file: `condition-failed` if it
   * has changed, and `overloaded` if the queue is full.
   */
  get(file: FileEntry, options?: MediaOptions): Promise<ImageDetails | undefined>;
  /** Aborts all requests with `unavailable`. Resolves when all reads and writes have ended. */
  close(): Promise<void>;
}

export type MediaOptions = {
  /** Reads a version that is not the current content of the file. Default: the files of the store. */
  readonly source?: Pick<Files, 'read'> | undefined;
} & Cancellable;

export interface MediaDetailsOptions {
  readonly files: Pick<Files, 'read'>;
  /** The folder of the cache, which thumbnails can share. Unused if `cacheSize` is 0. */
  readonly cacheFolder: string;
  /** Maximum bytes in `cacheFolder`. 0 caches in memory only. */
  readonly cacheSize: number;
  /** Called when the cache can't be read or written, which fails no request. */
  readonly warn?: Warn;
}

/** The version of the details, a part of each cache key and ETag. Increase it when the details of an image change. */
const VERSION = 1;

/** Maximum bytes of details in memory: those of about 10,000 photos. */
const MAX_MEMORY_BYTES = 4 * 1024 * 1024;

/** Maximum parallel reads of a process. Each holds up to 512 KiB. */
const MAX_READS = 16;

/** Maximum waiting reads: those of a few folders. */
const MAX_WAITING = 4096;

/** Timeout for reading the header of a file, in milliseconds. Frees the slot even if a store's own timeout fails to. */
const READ_TIMEOUT_MS = 60_000;

/** Returns the ETag of the details of a file, without quotes. */
export function mediaEtag(file: FileEntry): string {
  return `${file.etag}-media${VERSION}`;
}

export function createMediaDetails({
  files,
  cacheFolder,
  cacheSize,
  warn = () => {},
}: MediaDetailsOptions): MediaDetails {
  const cache = createCache({ folder: cacheFolder, size: cacheSize, memory: MAX_MEMORY_BYTES, warn });
  const flights = createSingleFlight<ImageDetails | undefined>();
  const reads = createSemaphore({ limit: MAX_READS, maxWaiting: MAX_WAITING, busyMessage: 'Too many reads of images' });
  const closed = shuttingDown();
  let isClosed = false;

  return {
    async get(file, { source = files, signal } = {}) {
      signal?.throwIfAborted();
      if (isClosed) throw closed;
      if (!canBeImage(file)) return undefined;
      const key = hash('sha256', `media${VERSION}\0${file.path}\0${file.etag}`);
      const read = async (flightSignal: AbortSignal) => {
        const release = await reads.acquire(flightSignal);
        try {
          return await readCached(cache, key, () => readDetails(source, file, flightSignal));
        } finally {
          release();
        }
      };
      return flights.run(key, read, signal);
    },

    async close() {
      isClosed = true;
      await flights.abort(closed);
      await cache.close();
    },
  };
}

/** Returns whether a file can be an image, by its type, or by its name if it has none. Other files are not read. */
function canBeImage({ path, size, type }: FileEntry): boolean {
  return size > 0 && IMAGE_TYPE.test(type.startsWith(UNKNOWN_TYPE) ? mediaTypeOf(path) : type);
}

const IMAGE_TYPE = /^image\/(?:jpeg|png|webp|gif|avif|heic|heif|tiff|svg\+xml)(?![\w+.-])/i;

async function readCached(
  cache: ThumbnailCache,
  key: string,
  read: () => Promise<ImageDetails | undefined>,
): Promise<ImageDetails | undefined> {
  const cached = await cache.get(key);
  // The cache verifies a checksum of the key and the entry, so the entry is what an earlier call has stored.
  if (cached) return (JSON.parse(cached.toString()) as ImageDetails | null) ?? undefined;
  const details = await read();
  cache.set(key, Buffer.from(JSON.stringify(details ?? null)));
  return details;
}

async function readDetails(
  source: Pick<Files, 'read'>,
  file: FileEntry,
  signal: AbortSignal,
): Promise<ImageDetails | undefined> {
  // `AbortSignal.timeout` would keep its timer until it is collected, which takes longer than the read.
  const slow = new AbortController();
  const timer = setTimeout(() => slow.abort(readTimedOut(file)), READ_TIMEOUT_MS);
  const stop = AbortSignal.any([signal, slow.signal]);
  const blocks: Buffer<ArrayBuffer>[] = [];
  const read = async (range: { start: number; end: number }) => {
    try {
      const options = { range, ifMatch: file.etag, isOnce: true, signal: stop };
      const block = await bytesOf(await source.read(file.path, options), range.end - range.start + 1, stop);
      blocks.push(block);
      return block;
    } catch (error) {
      // If the read was aborted, throw the abort reason instead of the error that the abort caused.
      stop.throwIfAborted();
      throw error;
    }
  };
  try {
    return await readImageDetails(fileSource(read, file.size));
  } finally {
    clearTimeout(timer);
    // Collecting the garbage of hundreds of photos would take longer than reading them.
    for (const block of blocks) freeMemory(block);
  }
}

function readTimedOut({ path }: FileEntry): StoreError {
  const message = `The file ${quoted(path)} could not be read within ${READ_TIMEOUT_MS / 1000} seconds. Try again.`;
  return new StoreError('store-busy', message, { retryAfter: 1 });
}

/** Returns a copy of the bytes of a range, and ignores what a store sends beyond it. */
async function bytesOf({ bytes, body }: Content, length: number, signal: AbortSignal): Promise<Buffer<ArrayBuffer>> {
  const copy = Buffer.allocUnsafeSlow(length);
  if (bytes) return copy.subarray(0, bytes.copy(copy));
  const recycle = recyclerOf(body);
  let received = 0;
  // Leaving the loop destroys the body, and so does the signal.
  for await (const part of addAbortSignal(signal, body)) {
    received += part.copy(copy, received);
    recycle?.(part);
    if (received >= length) break;
  }
  return copy.subarray(0, received);
}
