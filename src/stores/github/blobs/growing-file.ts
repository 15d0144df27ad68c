import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { asError, StoreError } from '../../../domain/error.ts';
import type { ResolvedRange } from '../../../domain/range.ts';
import { SOON } from '../../network.ts';

/** A file that is read while it is written. Nobody reads its last byte before all of it was found right. */
export interface GrowingFile {
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
export function createGrowingFile(file: FileHandle, size: number): GrowingFile {
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
    retryAfter: SOON,
  });
}
