import { Readable } from 'node:stream';
import { asError } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import { type ByteRange, type ResolvedRange, resolveRange } from '../../model/range.ts';
import type { Content, FileEntry } from '../../model/store.ts';
import { concurrentlyModified, requireEtag } from '../../model/store-errors.ts';
import { BufferedContent } from '../../streams/bodies.ts';
import { freeMemory, setRecycler } from '../../streams/chunk-recycling.ts';
import { toStoreError } from './errors.ts';
import { entryOf } from './metadata.ts';
import type { RecentFile } from './recent-files.ts';
import type { OpenFile, Root } from './root.ts';

/** Maximum bytes that are read in one call. Creating a stream for them would cost more than the read. */
const MAX_BUFFERED_BYTES = 64 * 1024;

/** Chunk size of streams with synchronous reads. Small chunks are still in the CPU cache when they are sent. */
const SYNC_CHUNK_BYTES = 64 * 1024;

/** Chunk size of streams that read in the thread pool. Larger, because each read is a round trip to a thread. */
const THREADPOOL_CHUNK_BYTES = 256 * 1024;

/** Size below which a part that was read recently is likely to be in the page cache as a whole. */
const MAX_CACHED_PART_BYTES = 16 * 1024 * 1024;

interface ReadOptions {
  readonly range?: ByteRange;
  readonly ifMatch?: string;
  readonly isOnce?: boolean;
}

/** Reads files, from the cache of recently opened files if possible. */
export class DiskReader {
  readonly #root: Root;

  constructor(root: Root) {
    this.#root = root;
  }

  /** Fulfils the contract of `Store.stat`. */
  async stat(path: FilePath): Promise<FileEntry> {
    const recent = await this.#root.recent.find(path);
    if (recent) return recent.file;
    await using opened = await this.#root.openFile(path);
    const file = entryOf(path, opened.stats);
    this.#root.recent.note(path, opened.stats, { file });
    return file;
  }

  /** Fulfils the contract of `Store.read`. */
  async read(path: FilePath, { range, ifMatch, isOnce }: ReadOptions): Promise<Content> {
    const recent = await this.#root.recent.find(path);
    if (recent?.bytes) return cachedContent(recent.file, recent.bytes, { range, ifMatch });
    const opened = await this.#root.openFile(path);
    const file = entryOf(path, opened.stats);
    const note = (bytes: Buffer) => this.#root.recent.note(path, opened.stats, { file, bytes });
    return contentOf(opened, file, { range, ifMatch }, isOnce ? undefined : note);
  }

  /** Fulfils the contract of `Store.readCached`. */
  readCached(path: FilePath): Content | undefined | Promise<Content | undefined> {
    const recent = this.#root.recent.find(path);
    return recent instanceof Promise ? recent.then(wholeContent) : wholeContent(recent);
  }
}

/**
 * Returns the content of an open file, or a range of it, and closes the file when it was read. Passes the content of a
 * small file, if all of it was requested, to `onWhole`.
 */
export async function contentOf(
  opened: OpenFile,
  file: FileEntry,
  { range, ifMatch }: ReadOptions,
  onWhole?: (bytes: Buffer) => void,
): Promise<Content> {
  let body: Readable | undefined;
  try {
    requireEtag(file, ifMatch);
    const resolved = range && resolveRange(range, file.size);
    // Never read beyond the reported size, even if another program is appending.
    const part = resolved ?? { start: 0, end: file.size - 1 };
    if (part.end - part.start < MAX_BUFFERED_BYTES) {
      const bytes = await readPart(opened, part);
      if (!resolved) onWhole?.(bytes);
      return new BufferedContent(file, resolved, bytes);
    }
    body = streamOf(opened, part, file.path);
    return { file, range: resolved, body };
  } catch (error) {
    throw toStoreError(error, file.path);
  } finally {
    if (!body) await opened.close();
  }
}

const wholeContent = (recent: RecentFile | undefined): Content | undefined =>
  recent?.bytes && new BufferedContent(recent.file, undefined, recent.bytes);

/** Returns the content of a file, or a range of it, from its cached bytes. */
function cachedContent(file: FileEntry, bytes: Buffer, { range, ifMatch }: ReadOptions): Content {
  requireEtag(file, ifMatch);
  const resolved = range && resolveRange(range, file.size);
  return new BufferedContent(file, resolved, resolved ? bytes.subarray(resolved.start, resolved.end + 1) : bytes);
}

/** Reads a small part of a file. Throws `unavailable` if the file was truncated after it was opened. */
async function readPart(file: OpenFile, { start, end }: ResolvedRange): Promise<Buffer> {
  // `Buffer.allocUnsafe` would take small buffers from a shared pool. That costs twice as much here, and each buffer in
  // use would keep the whole pool in memory.
  const bytes = Buffer.allocUnsafeSlow(end - start + 1);
  if (bytes.length === 0) return bytes;
  const started = performance.now();
  if ((await file.syscalls.read(file.fd, bytes, start)) < bytes.length) throw concurrentlyModified();
  file.noteRead(performance.now() - started);
  return bytes;
}

/**
 * Returns a stream of a part of a file, which closes the file when it ends or is destroyed. Recycled chunks are reused
 * for later reads.
 */
function streamOf(file: OpenFile, { start, end }: ResolvedRange, path: FilePath): Readable {
  let position = start;
  let slowestMs = 0;
  const recycled: Buffer[] = [];
  // A larger part might no longer be in the page cache, even if it was read recently.
  const syscalls = end - start < MAX_CACHED_PART_BYTES ? file.syscalls : file.threadpoolSyscalls;
  const chunkBytes = syscalls === file.threadpoolSyscalls ? THREADPOOL_CHUNK_BYTES : SYNC_CHUNK_BYTES;

  const next = async (): Promise<Buffer | null> => {
    if (position > end) {
      file.noteRead(slowestMs);
      return null;
    }
    const started = performance.now();
    const size = Math.min(chunkBytes, end - position + 1);
    const chunk = recycled.pop()?.subarray(0, size) ?? Buffer.allocUnsafeSlow(size);
    if ((await syscalls.read(file.fd, chunk, position)) < chunk.length) throw concurrentlyModified();
    position += chunk.length;
    slowestMs = Math.max(slowestMs, performance.now() - started);
    return chunk;
  };

  let reading: Promise<void> = Promise.resolve();
  const body = new Readable({
    highWaterMark: chunkBytes,
    read() {
      reading = next().then(
        (chunk) => void this.push(chunk),
        (error: unknown) => void this.destroy(asError(toStoreError(error, path))),
      );
    },
    destroy(error, callback) {
      for (const chunk of recycled) freeMemory(chunk);
      void closeAfter(reading, file, (failure) => callback(error ?? failure));
    },
  });
  setRecycler(body, (chunk) => {
    if (chunk.length === chunkBytes && position <= end && !body.destroyed) recycled.push(chunk);
    else freeMemory(chunk);
  });
  return body;
}

/**
 * Closes a file after the read in progress: a closed descriptor can be reused for another file, which the read would
 * then reach. Passes an error of either to `callback`.
 */
async function closeAfter(
  reading: Promise<void>,
  file: OpenFile,
  callback: (error: Error | null) => void,
): Promise<void> {
  let failure: Error | null = null;
  try {
    await reading;
    await file.close();
  } catch (error) {
    failure = asError(error);
  }
  callback(failure);
}
