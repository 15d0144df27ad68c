import { eachPiece } from '../../domain/each-piece.ts';
import type { Release, Upload } from '../../domain/store.ts';
import type { Calls } from './calls.ts';
import type { Soon } from './pace.ts';

/** Bytes that wait at the most while what came before them is written. */
const WAITING = 1024 * 1024;

/** Pieces that do: as many as writev(2) takes. */
const PIECES = 1024;

/** Bytes of a small file, that the file system takes into memory in microseconds: they are written at its end. */
const FEW = 64 * 1024;

/**
 * Writes all of `body` to an open file, and makes it durable. What comes while something is written is written together
 * after it: little by little from a slow client, in large pieces from one that is quicker than the disk.
 */
export async function receive(
  calls: Calls,
  file: number,
  { body, release = () => {} }: Pick<Upload, 'body' | 'release'>,
): Promise<void> {
  const output = createOutput(calls, file, release);
  try {
    await eachPiece(body, (piece) => output.add(piece));
  } finally {
    // Whoever closes the file must find it at rest.
    await output.rest();
  }
  await output.finish();
  await calls.syncBytes(file);
}

interface Output {
  /** Takes a piece in, when there is room for it. Throws what went wrong with those before it. */
  add(piece: Buffer): Soon<void>;
  /** When nothing is under way any more, however it went. */
  rest(): Promise<void>;
  /** Writes what is left, or throws what went wrong. */
  finish(): Promise<void>;
}

function createOutput(calls: Calls, file: number, release: Release): Output {
  let waiting: Buffer[] = [];
  let size = 0;
  let total = 0;
  let writing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  const requireWritten = () => {
    if (failure) throw failure.error;
  };

  // To have the disk begin early, by syncing every 32 MiB, made 256 MiB take three times as long.
  const writeWaiting = async (): Promise<void> => {
    try {
      while (waiting.length > 0) {
        const pieces = waiting;
        waiting = [];
        size = 0;
        await calls.writeMany(file, pieces);
        for (const piece of pieces) release(piece);
      }
    } catch (error) {
      failure = { error };
    } finally {
      writing = undefined;
    }
  };

  return {
    add(piece) {
      requireWritten();
      waiting.push(piece);
      size += piece.length;
      total += piece.length;
      if (total > FEW) writing ??= writeWaiting();
      return size >= WAITING || waiting.length >= PIECES ? writing : undefined;
    },
    async rest() {
      await writing;
    },
    async finish() {
      requireWritten();
      if (waiting.length > 0) await calls.write(file, Buffer.concat(waiting));
    },
  };
}
