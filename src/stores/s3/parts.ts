import type { Readable } from 'node:stream';

const MIB = 2 ** 20;

/** The most parts of one upload, on every store. */
const MAX_PARTS = 10_000;

/** A file below this many bytes goes in one request. */
const LEAST_PART = 8 * MIB;

/** Where nobody says how much will come: parts that suffice for 156 GiB. */
const PART_OF_UNKNOWN = 16 * MIB;

/** The most parts under way at once, and the bytes that they may hold in memory together. */
const MOST_IN_FLIGHT = 4;
const BUDGET = 32 * MIB;

export interface PartPlan {
  /** Bytes of every part but the last: R2 wants them equal. */
  readonly partSize: number;
  readonly inFlight: number;
}

/** How a body of at most so many bytes is cut, so that 10,000 equal parts suffice. */
export function planParts(sizeAtMost: number | undefined): PartPlan {
  const needed = sizeAtMost === undefined ? PART_OF_UNKNOWN : Math.ceil(sizeAtMost / MAX_PARTS / MIB) * MIB;
  const partSize = Math.max(LEAST_PART, needed);
  return { partSize, inFlight: Math.max(1, Math.min(MOST_IN_FLIGHT, Math.floor(BUDGET / partSize))) };
}

/** The bytes of `body` in parts of `partSize`, the last one shorter; none for an empty body. */
export async function* cut(body: Readable, partSize: number): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    for (let start = 0; start < chunk.length; ) {
      const piece = chunk.subarray(start, start + partSize - size);
      chunks.push(piece);
      size += piece.length;
      start += piece.length;
      if (size < partSize) continue;
      yield Buffer.concat(chunks, size);
      [chunks, size] = [[], 0];
    }
  }
  if (size > 0) yield Buffer.concat(chunks, size);
}

/** The parts that a copy of so many bytes is made of: each `bytes=first-last` of the source. */
export function rangesOf(size: number, partSize: number): string[] {
  return Array.from({ length: Math.ceil(size / partSize) }, (_, index) => {
    const start = index * partSize;
    return `bytes=${start}-${Math.min(start + partSize, size) - 1}`;
  });
}
