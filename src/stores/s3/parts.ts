import type { Readable } from 'node:stream';
import { StoreError } from '../../domain/error.ts';

const MIB = 2 ** 20;

/** The most parts of one upload, on every store (Amazon S3, "multipart upload limits"). */
export const MAX_PARTS = 10_000;

/** A file below this many bytes goes in one request. */
const LEAST_PART = 8 * MIB;

/** Where nobody says how much will come: parts that suffice for 156 GiB. */
const PART_OF_UNKNOWN = 16 * MIB;

/** The most parts under way at once, and the bytes that they may hold in memory together. */
const MOST_IN_FLIGHT = 4;
const BUDGET = 32 * MIB;

/** The largest object of any store that is known (Amazon S3, R2: 5 TiB). */
const MOST = 5 * 2 ** 40;

export interface PartPlan {
  /** Bytes of every part but the last: R2 wants them equal. */
  readonly partSize: number;
  readonly inFlight: number;
}

/**
 * How a body of at most so many bytes is cut, so that 10,000 equal parts suffice. `too-large` for more than any store
 * takes.
 */
export function planParts(sizeAtMost: number | undefined, least = LEAST_PART): PartPlan {
  if (sizeAtMost !== undefined && sizeAtMost > MOST) {
    throw new StoreError('too-large', `The file is larger than the ${MOST} bytes (5 TiB) that object stores take.`);
  }
  const needed = sizeAtMost === undefined ? PART_OF_UNKNOWN : Math.ceil(sizeAtMost / MAX_PARTS / MIB) * MIB;
  const partSize = Math.max(least, needed);
  return { partSize, inFlight: Math.max(1, Math.min(MOST_IN_FLIGHT, Math.floor(BUDGET / partSize))) };
}

/** The parts of a body, each in a buffer that is used again when it is given back: so memory stays flat. */
export interface Cutter {
  /** The bytes of the body in parts of the planned size, the last one shorter; none for an empty body. */
  readonly parts: AsyncGenerator<Buffer>;
  /** Takes a part back that nobody reads any more. */
  giveBack(part: Buffer): void;
  /** Bytes that have come so far. */
  size(): number;
}

/** Cuts a body that is said to have at most `expected` bytes. */
export function cut(body: Readable, partSize: number, expected = partSize): Cutter {
  const free: ArrayBufferLike[] = [];
  let size = 0;
  const take = () => Buffer.from(free.pop() ?? Buffer.allocUnsafeSlow(partSize).buffer);

  const parts = async function* () {
    // A small file takes no more memory than it needs, unless more comes than was said.
    let part: Buffer = Buffer.allocUnsafeSlow(Math.min(partSize, expected));
    let filled = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      for (let start = 0; start < chunk.length; ) {
        if (filled === partSize) {
          yield part;
          [part, filled] = [take(), 0];
        } else if (filled === part.length) {
          part = Buffer.concat([part], partSize);
        }
        const copied = chunk.copy(part, filled, start);
        start += copied;
        filled += copied;
        size += copied;
      }
    }
    if (filled > 0) yield part.subarray(0, filled);
  };

  return { parts: parts(), giveBack: (part) => void free.push(part.buffer), size: () => size };
}

/** The parts that a copy of so many bytes is made of: each `bytes=first-last` of the source. */
export function rangesOf(size: number, partSize: number): string[] {
  return Array.from({ length: Math.ceil(size / partSize) }, (_, index) => {
    const start = index * partSize;
    return `bytes=${start}-${Math.min(start + partSize, size) - 1}`;
  });
}
