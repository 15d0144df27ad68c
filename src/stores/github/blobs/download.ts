import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { asError, errorCode, isStoreError, StoreError } from '../../../model/error.ts';
import type { ResolvedRange } from '../../../model/range.ts';
import { RETRY_LATER_SECONDS, RETRY_SOON_SECONDS } from '../../network.ts';
import { type Blob, hashOfBlob } from './kept-blobs.ts';

export interface DownloadOptions {
  /** Ends the download. */
  readonly signal: AbortSignal;
  /** Milliseconds without a byte after which the host is given up. */
  readonly stallAfter: number;
}

/**
 * Writes what the host sends into `file`, at the pace of the disk, and resolves when it was all of the blob and
 * nothing else. Rejects with `unavailable` when it is not, breaks off or stalls, or can't be written, and with the reason
 * of `signal`; an error of the body that is a `StoreError` stays as it is. The body is destroyed in any case.
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
  // The sha covers the size as well.
  if (hash.digest('hex') !== blob.sha) throw otherBytes();
}

/** The outcome of something done in the folder of the cache; a failure is one that a person can act on. */
export async function onDisk<Result>(operation: Promise<Result>): Promise<Result> {
  try {
    return await operation;
  } catch (error) {
    const isFull = ['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '');
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

/** A file that is read while it is written. Nobody reads its last byte before all of it was found right. */
export interface TailableFile {
  /** Writes behind what is there, and resolves when that can be read. One call at a time. */
  append(chunk: Uint8Array): Promise<void>;
  /** All of it is there, and right. */
  finish(): void;
  /** Whoever still reads fails with `reason` when it asks for more. Once this was called, the file may be closed. */
  fail(reason: unknown): void;
  /**
   * Bytes of the file, each as soon as it is there. `left` is called once, when the reader has come to its end or was
   * destroyed.
   */
  read(range: ResolvedRange, left: () => void): Readable;
}

/** Bytes that are read at once. A reader holds two such pieces at the most. */
const PIECE = 64 * 1024;

/** A file that will have `size` bytes, and is empty now unless it is finished at once. Whoever opened it closes it. */
export function createGrowingFile(file: FileHandle, size: number): TailableFile {
  let written = 0;
  let isFinished = false;
  let failure: Error | undefined;
  let changed = Promise.withResolvers<void>();

  const wakeReaders = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };

  /** Waits until there are bytes from `start` on, and gives some of them. */
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

/** Bytes of the file, one at least and `length` at the most. */
async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
  if (bytesRead > 0) return buffer.subarray(0, bytesRead);
  throw new StoreError('unavailable', 'The file was cut short in the cache (CACHE_DIR) while it was read.', {
    retryAfter: RETRY_SOON_SECONDS,
  });
}
