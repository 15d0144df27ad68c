import { Readable } from 'node:stream';
import type { ResolvedRange } from '../../model/range.ts';
import { concurrentlyModified } from '../../model/store-errors.ts';
import { freeMemory, setRecycler } from '../../streams/chunk-recycling.ts';
import type { OpenFile } from './root.ts';

/** Maximum bytes that are read in one call. Creating a stream for them would cost more than the read. */
const SMALL = 64 * 1024;

/** Chunk size of streams with synchronous reads. Small chunks are still in the CPU cache when they are sent. */
const CHUNK = 64 * 1024;

/** Chunk size of streams that read in the thread pool. Larger, because each read is a round trip to a thread. */
const CHUNK_ASIDE = 256 * 1024;

/** Size below which a part that was read recently is likely to be in the page cache as a whole. */
const FITTING = 16 * 1024 * 1024;

/** Returns whether a range is read in one call instead of as a stream. */
export const isSmall = ({ start, end }: ResolvedRange): boolean => end - start < SMALL;

/** Reads a small part of a file. Throws `unavailable` if the file was truncated after it was opened. */
export async function readPart(file: OpenFile, { start, end }: ResolvedRange): Promise<Buffer> {
  // `Buffer.allocUnsafe` would take small buffers from a shared pool. That costs twice as much here, and each buffer in
  // use would keep the whole pool in memory.
  const bytes = Buffer.allocUnsafeSlow(end - start + 1);
  if (bytes.length === 0) return bytes;
  const started = performance.now();
  if ((await file.calls.read(file.number, bytes, start)) < bytes.length) throw concurrentlyModified();
  file.noteRead(performance.now() - started);
  return bytes;
}

/**
 * Returns a stream of a part of a file, which closes the file when it ends or is destroyed. Recycled chunks are reused
 * for later reads.
 */
export function streamOf(file: OpenFile, { start, end }: ResolvedRange): Readable {
  let position = start;
  let longest = 0;
  const spare: Buffer[] = [];
  // A larger part may no longer be in the page cache, even if it was read recently.
  const calls = end - start < FITTING ? file.calls : file.callsAside;
  const largest = calls === file.callsAside ? CHUNK_ASIDE : CHUNK;

  const next = async (): Promise<Buffer | null> => {
    if (position > end) {
      file.noteRead(longest);
      return null;
    }
    const started = performance.now();
    const size = Math.min(largest, end - position + 1);
    const chunk = spare.pop()?.subarray(0, size) ?? Buffer.allocUnsafeSlow(size);
    if ((await calls.read(file.number, chunk, position)) < chunk.length) throw concurrentlyModified();
    position += chunk.length;
    longest = Math.max(longest, performance.now() - started);
    return chunk;
  };

  let underWay: Promise<void> = Promise.resolve();
  const body = new Readable({
    highWaterMark: largest,
    read() {
      underWay = next().then(
        (chunk) => void this.push(chunk),
        (error: unknown) => void this.destroy(error instanceof Error ? error : new Error(String(error))),
      );
    },
    destroy(error, done) {
      for (const chunk of spare) freeMemory(chunk);
      void closeAfter(underWay, file, (problem) => done(error ?? problem));
    },
  });
  setRecycler(body, (chunk) => {
    if (chunk.length === largest && position <= end && !body.destroyed) spare.push(chunk);
    else freeMemory(chunk);
  });
  return body;
}

/**
 * Closes a file after the read in progress: a closed descriptor can be reused for another file, which the read would
 * then reach. Passes an error of either to `tell`.
 */
async function closeAfter(
  reading: Promise<void>,
  file: OpenFile,
  tell: (problem: Error | null) => void,
): Promise<void> {
  let problem: Error | null = null;
  try {
    await reading;
    await file.close();
  } catch (error) {
    problem = error instanceof Error ? error : new Error(String(error));
  }
  tell(problem);
}
