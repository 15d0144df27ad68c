import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isStoreError, StoreError } from '../../../domain/error.ts';
import { codeOf } from '../../../domain/system-error.ts';
import { LATER, SOON } from '../../network.ts';
import { type Blob, hashOfBlob } from './blob.ts';
import type { GrowingFile } from './growing-file.ts';

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
  file: GrowingFile,
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
    const isFull = ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');
    const message = isFull
      ? 'The folder for files that were read (CACHE_DIR) is on a full disk: make room there, or lower GITHUB_CACHE_SIZE.'
      : "The folder for files that were read (CACHE_DIR) can't be written to.";
    throw new StoreError('unavailable', message, { cause: error, retryAfter: LATER });
  }
}

function otherBytes(): StoreError {
  return new StoreError('unavailable', 'The host of the repository sent something else than the file.', {
    retryAfter: SOON,
  });
}

function brokenOff(cause: unknown): StoreError {
  return new StoreError('unavailable', 'The host of the repository broke off while it sent the file.', {
    cause,
    retryAfter: SOON,
  });
}

function stalled(): StoreError {
  return new StoreError('unavailable', 'The host of the repository stopped sending the file.', { retryAfter: SOON });
}
