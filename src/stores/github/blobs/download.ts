import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { asError, isDiskFull, isStoreError, StoreError } from '../../../model/error.ts';
import type { ResolvedRange } from '../../../model/range.ts';
import { LONG_RETRY_AFTER_SECONDS, SHORT_RETRY_AFTER_SECONDS } from '../../network.ts';
import { type Blob, hashOfBlob } from './cached-blobs.ts';

export interface DownloadOptions {
  /** Aborts the download. */
  readonly signal: AbortSignal;
  /** Milliseconds without data after which the download is aborted. */
  readonly stallAfter: number;
}

/**
 * Writes a response body to `file`, with back-pressure, and resolves when the bytes match the blob's SHA. Rejects with
 * `unavailable` if the bytes differ, the body ends early or stalls, or the file can't be written. Rejects with the
 * reason of `signal` if that aborts. A `StoreError` of the body is thrown unchanged. Always destroys the body.
 */
export async function download(
  body: Readable,
  blob: Blob,
  file: TailableFile,
  { signal, stallAfter }: DownloadOptions,
): Promise<void> {
  const timer = setTimeout(() => body.destroy(stalled()), stallAfter);
  const hash = hashOfBlob(blob.size);
  let received = 0;
  const receive = async (chunks: AsyncIterable<Uint8Array>) => {
    for await (const chunk of chunks) {
      received += chunk.length;
      if (received > blob.size) throw wrongContent();
      hash.update(chunk);
      timer.refresh();
      await inCacheFolder(file.append(chunk));
      timer.refresh();
    }
  };
  try {
    await pipeline(body, receive, { signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw isStoreError(error) ? error : connectionLost(error);
  } finally {
    clearTimeout(timer);
  }
  // The SHA also covers the size.
  if (hash.digest('hex') !== blob.sha) throw wrongContent();
}

/** Awaits an operation in the cache folder. Converts errors to `unavailable` with advice for the operator. */
export async function inCacheFolder<Result>(operation: Promise<Result>): Promise<Result> {
  try {
    return await operation;
  } catch (error) {
    const message = isDiskFull(error)
      ? 'The cache folder (CACHE_DIR) is on a full disk. Free space, or lower GITHUB_CACHE_SIZE.'
      : "The cache folder (CACHE_DIR) can't be written to.";
    throw new StoreError('cache-unavailable', message, { cause: error, retryAfter: LONG_RETRY_AFTER_SECONDS });
  }
}

function wrongContent(): StoreError {
  return new StoreError('unexpected-store-response', 'GitHub sent bytes that do not match the hash of the file.', {
    retryAfter: SHORT_RETRY_AFTER_SECONDS,
  });
}

function connectionLost(cause: unknown): StoreError {
  return new StoreError('store-busy', 'GitHub closed the connection while it sent the file.', {
    cause,
    retryAfter: SHORT_RETRY_AFTER_SECONDS,
  });
}

function stalled(): StoreError {
  return new StoreError('store-busy', 'GitHub stopped sending the file.', {
    retryAfter: SHORT_RETRY_AFTER_SECONDS,
  });
}

/** Maximum bytes per read. A reader buffers at most two chunks of this size. */
const READ_CHUNK_BYTES = 64 * 1024;

/** A file that can be read while it is written. Its last byte is readable only after its content was verified. */
export class TailableFile {
  readonly #file: FileHandle;
  readonly #size: number;
  #written = 0;
  #isFinished = false;
  #failure: Error | undefined;
  #change = Promise.withResolvers<void>();

  /** The file will have `size` bytes. It must be empty now, or be finished at once. The caller closes it. */
  constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.#size = size;
  }

  /** Appends a chunk; resolves when the chunk is readable. One call at a time. */
  async append(chunk: Uint8Array): Promise<void> {
    await this.#file.writeFile(chunk);
    this.#written += chunk.length;
    this.#wakeReaders();
  }

  /** Marks the file as complete and verified. */
  finish(): void {
    this.#isFinished = true;
    this.#wakeReaders();
  }

  /** Fails all readers with `reason` on their next read. After this call, the file can be closed. */
  fail(reason: unknown): void {
    this.#failure = asError(reason);
    this.#wakeReaders();
  }

  /**
   * Reads a range, each byte as soon as it is available. `onClose` is called once, when the reader ends or is
   * destroyed.
   */
  read(range: ResolvedRange, onClose: () => void): Readable {
    return createReader(range, (rest) => this.#readSome(rest), onClose);
  }

  /** Waits until bytes from `start` on are available, and returns some of them. */
  async #readSome({ start, end }: ResolvedRange): Promise<Buffer> {
    for (;;) {
      if (this.#failure) throw this.#failure;
      const available = this.#isFinished ? this.#size : Math.min(this.#written, this.#size - 1);
      const length = Math.min(available, end + 1, start + READ_CHUNK_BYTES) - start;
      if (length > 0) return readAt(this.#file, start, length);
      await this.#change.promise;
    }
  }

  #wakeReaders(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

function createReader(
  { start, end }: ResolvedRange,
  readSome: (range: ResolvedRange) => Promise<Buffer>,
  onClose: () => void,
): Readable {
  let position = start;
  const pushNext = async (reader: Readable) => {
    try {
      const bytes = position > end ? null : await readSome({ start: position, end });
      position += bytes?.length ?? 0;
      if (!reader.destroyed) reader.push(bytes);
    } catch (error) {
      reader.destroy(asError(error));
    }
  };
  return new Readable({
    highWaterMark: READ_CHUNK_BYTES,
    read() {
      void pushNext(this);
    },
    destroy(error, callback) {
      onClose();
      callback(error);
    },
  });
}

/** Reads between 1 and `length` bytes. */
async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
  if (bytesRead > 0) return buffer.subarray(0, bytesRead);
  throw new StoreError('cache-unavailable', 'The cached file (CACHE_DIR) was truncated while it was read.', {
    retryAfter: SHORT_RETRY_AFTER_SECONDS,
  });
}
