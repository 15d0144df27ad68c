import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { asError, isStoreError, StoreError, systemErrorCode } from '../../../model/error.ts';
import type { ResolvedRange } from '../../../model/range.ts';
import { RETRY_LATER_SECONDS, RETRY_SOON_SECONDS } from '../../network.ts';
import { type Blob, hashOfBlob } from './kept-blobs.ts';

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
      if (received > blob.size) throw otherBytes();
      hash.update(chunk);
      timer.refresh();
      await onDisk(file.append(chunk));
      timer.refresh();
    }
  };
  try {
    await pipeline(body, receive, { signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw isStoreError(error) ? error : brokenOff(error);
  } finally {
    clearTimeout(timer);
  }
  // The SHA also covers the size.
  if (hash.digest('hex') !== blob.sha) throw otherBytes();
}

/** Awaits an operation in the cache folder. Converts errors to `unavailable` with advice for the operator. */
export async function onDisk<Result>(operation: Promise<Result>): Promise<Result> {
  try {
    return await operation;
  } catch (error) {
    const isFull = ['ENOSPC', 'EDQUOT'].includes(systemErrorCode(error) ?? '');
    const message = isFull
      ? 'The folder for files that were read (CACHE_DIR) is on a full disk: make room there, or lower GITHUB_CACHE_SIZE.'
      : "The folder for files that were read (CACHE_DIR) can't be written to.";
    throw new StoreError('unavailable', message, { cause: error, retryAfter: RETRY_LATER_SECONDS });
  }
}

function otherBytes(): StoreError {
  return new StoreError('unavailable', 'The host of the repository sent something else than the file.', {
    retryAfter: RETRY_SOON_SECONDS,
  });
}

function brokenOff(cause: unknown): StoreError {
  return new StoreError('unavailable', 'The host of the repository broke off while it sent the file.', {
    cause,
    retryAfter: RETRY_SOON_SECONDS,
  });
}

function stalled(): StoreError {
  return new StoreError('unavailable', 'The host of the repository stopped sending the file.', {
    retryAfter: RETRY_SOON_SECONDS,
  });
}

/** A file that can be read while it is written. Its last byte is readable only after its content was verified. */
export interface TailableFile {
  /** Appends a chunk; resolves when the chunk is readable. One call at a time. */
  append(chunk: Uint8Array): Promise<void>;
  /** Marks the file as complete and verified. */
  finish(): void;
  /** Fails all readers with `reason` on their next read. After this call, the file can be closed. */
  fail(reason: unknown): void;
  /**
   * Reads a range, each byte as soon as it is available. `left` is called once, when the reader ends or is destroyed.
   */
  read(range: ResolvedRange, left: () => void): Readable;
}

/** Maximum bytes per read. A reader buffers at most two chunks of this size. */
const PIECE = 64 * 1024;

/**
 * Creates a tailable file that will have `size` bytes. It must be empty now, or be finished at once. The caller closes
 * it.
 */
export function createGrowingFile(file: FileHandle, size: number): TailableFile {
  let written = 0;
  let isFinished = false;
  let failure: Error | undefined;
  let changed = Promise.withResolvers<void>();

  const wakeReaders = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };

  /** Waits until bytes from `start` on are available, and returns some of them. */
  const take = async ({ start, end }: ResolvedRange): Promise<Buffer> => {
    for (;;) {
      if (failure) throw failure;
      const readable = isFinished ? size : Math.min(written, size - 1);
      const length = Math.min(readable, end + 1, start + PIECE) - start;
      if (length > 0) return readAt(file, start, length);
      await changed.promise;
    }
  };

  return {
    async append(chunk) {
      await file.writeFile(chunk);
      written += chunk.length;
      wakeReaders();
    },

    finish() {
      isFinished = true;
      wakeReaders();
    },

    fail(reason) {
      failure = asError(reason);
      wakeReaders();
    },

    read: (range, left) => createReader(range, take, left),
  };
}

function createReader(
  { start, end }: ResolvedRange,
  take: (range: ResolvedRange) => Promise<Buffer>,
  left: () => void,
): Readable {
  let position = start;
  const pass = async (reader: Readable) => {
    try {
      const bytes = position > end ? null : await take({ start: position, end });
      position += bytes?.length ?? 0;
      if (!reader.destroyed) reader.push(bytes);
    } catch (error) {
      reader.destroy(asError(error));
    }
  };
  return new Readable({
    highWaterMark: PIECE,
    read() {
      void pass(this);
    },
    destroy(error, callback) {
      left();
      callback(error);
    },
  });
}

/** Reads between 1 and `length` bytes. */
async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
  if (bytesRead > 0) return buffer.subarray(0, bytesRead);
  throw new StoreError('unavailable', 'The file was cut short in the cache (CACHE_DIR) while it was read.', {
    retryAfter: RETRY_SOON_SECONDS,
  });
}
