import { Readable } from 'node:stream';
import { untilAborted } from '../../../cache/until-aborted.ts';
import { asError } from '../../../domain/error.ts';
import type { ResolvedRange } from '../../../domain/range.ts';
import type { Cancellable } from '../../../domain/store.ts';
import { stopping } from '../../network.ts';
import type { Blob } from './blob.ts';
import { type BlobFilesOptions, createBlobFiles, type Fetch } from './blob-files.ts';
import type { GrowingFile } from './growing-file.ts';

/** Blobs, fetched from their host when first asked for and kept in a folder, which processes and restarts share. */
export interface BlobCache {
  /**
   * The bytes of a blob, or those of `range`. Settles when the file is open or `fetch` has settled, so that what can't
   * be had is known before any byte goes out. Readers of a blob that is on its way share one download; each goes at its
   * own pace, and `fetch` and what it gave are ended when no reader is left. The last byte of a blob comes when its sha
   * was found right.
   *
   * Rejects, or the stream fails, with what `fetch` rejects with; with `unavailable` when the host breaks off, stalls or
   * sends other bytes, when the folder is full or can't be written to, and after `close`; with the reason of `signal` at
   * once. The next reader after a failure starts anew.
   *
   * The stream has a file open until it has ended or is destroyed.
   */
  open(blob: Blob, fetch: Fetch, options?: Cancellable & { readonly range?: ResolvedRange }): Promise<Readable>;
  /** Throws `unavailable` where nothing can be read, because the folder can't be written to. */
  check(): Promise<void>;
  /** Ends what is under way, whose readers get `unavailable`. When it resolves, no file is open and nothing runs. */
  close(): Promise<void>;
}

export type BlobCacheOptions = Omit<BlobFilesOptions, 'stallAfter'> & Partial<Pick<BlobFilesOptions, 'stallAfter'>>;

const STALL_AFTER = 60_000;

/** A blob that somebody reads or waits for. */
interface BlobInUse {
  readonly opened: Promise<GrowingFile>;
  /** Aborts when no reader is left or the file failed. Nobody may begin to read it then. */
  readonly over: AbortController;
  readers: number;
}

export function createBlobCache({ stallAfter = STALL_AFTER, ...options }: BlobCacheOptions): BlobCache {
  const files = createBlobFiles({ ...options, stallAfter });
  const inUse = new Map<string, BlobInUse>();
  const running = new Set<Promise<void>>();
  let isClosed = false;

  const begin = (blob: Blob, fetch: Fetch): BlobInUse => {
    const { promise: opened, resolve, reject } = Promise.withResolvers<GrowingFile>();
    const over = new AbortController();
    const key = keyOf(blob);
    const use = { opened, over, readers: 0 };
    inUse.set(key, use);
    const run = files.lend(blob, fetch, { over, opened: resolve }).finally(() => {
      reject(over.signal.reason);
      if (inUse.get(key) === use) inUse.delete(key);
      running.delete(run);
    });
    running.add(run);
    return use;
  };

  return {
    async open(blob, fetch, { range = { start: 0, end: blob.size - 1 }, signal } = {}) {
      signal?.throwIfAborted();
      if (isClosed) throw stopping();
      if (blob.size === 0) return Readable.from([]);
      const current = inUse.get(keyOf(blob));
      const use = current && !current.over.signal.aborted ? current : begin(blob, fetch);
      use.readers++;
      try {
        const file = await untilAborted(use.opened, signal);
        signal?.throwIfAborted();
        return endedBy(
          signal,
          file.read(range, () => leave(use)),
        );
      } catch (error) {
        leave(use);
        throw error;
      }
    },

    check: () => files.check(),

    async close() {
      isClosed = true;
      for (const { over } of inUse.values()) over.abort(stopping());
      await Promise.all(running);
      await files.close();
    },
  };
}

/** The size is part of it, so that nobody waits for bytes behind the end of a blob that was called smaller by others. */
function keyOf({ sha, size }: Blob): string {
  return `${sha} ${size}`;
}

function leave(use: BlobInUse): void {
  use.readers--;
  if (use.readers === 0) use.over.abort(new DOMException('Nobody reads the file any more.', 'AbortError'));
}

/** The same stream, which fails with the reason of `signal` when that aborts. */
function endedBy(signal: AbortSignal | undefined, readable: Readable): Readable {
  // It may fail before whoever asked listens to it, who learns of that all the same: no reason to end the process.
  readable.on('error', () => {});
  if (!signal) return readable;
  const abort = () => readable.destroy(asError(signal.reason));
  signal.addEventListener('abort', abort, { once: true });
  readable.once('close', () => signal.removeEventListener('abort', abort));
  return readable;
}
