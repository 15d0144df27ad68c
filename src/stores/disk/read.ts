import { Readable } from 'node:stream';
import type { ResolvedRange } from '../../model/range.ts';
import type { Content } from '../../model/store.ts';
import { concurrentlyModified } from '../../model/store-errors.ts';
import { releaseMemory } from '../../streams/bodies.ts';
import type { OpenFile } from './root.ts';

/** Bytes up to which a file is read at once, and not as a stream, which costs more than that. */
const SMALL = 64 * 1024;

/** Bytes of a stream that are read in one call: few, which are still in the processor's cache when they are sent. */
const CHUNK = 64 * 1024;

/** And by another thread, to which each call goes and from which it comes back. */
const CHUNK_ASIDE = 256 * 1024;

/** Bytes of a file that the system is likely to have in memory as a whole when it was read a moment ago. */
const FITTING = 16 * 1024 * 1024;

/** Whether so many bytes are read at once. */
export const isSmall = ({ start, end }: ResolvedRange): boolean => end - start < SMALL;

/** Reads a small part of a file. `unavailable` where the file was made shorter since it was opened. */
export async function readPart(file: OpenFile, { start, end }: ResolvedRange): Promise<Buffer> {
  // Not of the pool that small buffers share, which costs twice as much here and keeps what is done with in memory.
  const bytes = Buffer.allocUnsafeSlow(end - start + 1);
  if (bytes.length === 0) return bytes;
  const started = performance.now();
  if ((await file.calls.read(file.number, bytes, start)) < bytes.length) throw concurrentlyModified();
  file.noteRead(performance.now() - started);
  return bytes;
}

/** The bytes of a part of a file, as a stream that closes the file at its end; what is released is read into again. */
export function streamOf(file: OpenFile, { start, end }: ResolvedRange): Required<Pick<Content, 'body' | 'release'>> {
  let position = start;
  let longest = 0;
  const spare: Buffer[] = [];
  // What is larger than this need not be in memory though it was read a moment ago.
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

  const release = (piece: Buffer) => {
    if (piece.length === largest && position <= end && !body.destroyed) spare.push(piece);
    else releaseMemory(piece);
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
      for (const piece of spare) releaseMemory(piece);
      void closeAfter(underWay, file, (problem) => done(error ?? problem));
    },
  });
  return { body, release };
}

/** Closes a file once nobody reads from it: its number may be that of another file then. Tells what went wrong. */
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
