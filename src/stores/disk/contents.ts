import { Readable } from 'node:stream';
import { StoreError } from '../../domain/error.ts';
import type { ResolvedRange } from '../../domain/range.ts';
import type { OpenFile } from './root.ts';

/** Bytes up to which a file is read at once, and not as a stream, which costs more than that. */
const SMALL = 64 * 1024;

/** Bytes of a stream that are read at once. */
const CHUNK = 256 * 1024;

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
  if ((await file.calls.read(file.number, bytes, start)) < bytes.length) throw cutShort();
  file.noteRead(performance.now() - started);
  return bytes;
}

/** The bytes of a part of a file, as a stream that closes the file at its end. */
export function streamOf(file: OpenFile, { start, end }: ResolvedRange): Readable {
  let position = start;
  let longest = 0;
  // What is larger than this need not be in memory though it was read a moment ago.
  const calls = end - start < FITTING ? file.calls : file.callsAside;

  const next = async (): Promise<Buffer | null> => {
    if (position > end) {
      file.noteRead(longest);
      return null;
    }
    const started = performance.now();
    const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK, end - position + 1));
    if ((await calls.read(file.number, chunk, position)) < chunk.length) throw cutShort();
    position += chunk.length;
    longest = Math.max(longest, performance.now() - started);
    return chunk;
  };

  let underWay: Promise<void> = Promise.resolve();
  return new Readable({
    highWaterMark: CHUNK,
    read() {
      underWay = next().then(
        (chunk) => void this.push(chunk),
        (error: unknown) => void this.destroy(error instanceof Error ? error : new Error(String(error))),
      );
    },
    destroy(error, done) {
      void closeAfter(underWay, file, (problem) => done(error ?? problem));
    },
  });
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

function cutShort(): StoreError {
  return new StoreError('unavailable', 'The file is being changed.', { retryAfter: 1 });
}
