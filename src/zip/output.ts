import type { ResolvedRange } from '../model/range.ts';

/** Pieces up to this size are combined: a write of the system costs more than the copy. */
const MAX_COMBINED_BYTES = 32 * 1024;

const BUFFER_BYTES = 64 * 1024;

/** Buffers that are kept for reuse. */
const MAX_FREE_BUFFERS = 4;

type Recycle = (chunk: Buffer) => void;

/**
 * The bytes of a range of an archive: cuts the pieces that are added, in order, to the range, combines small ones, and
 * yields buffers to send. Buffers are reused when they are recycled.
 */
export class Output {
  readonly start: number;
  /** The position after the last byte. */
  readonly end: number;
  readonly #recyclers = new WeakMap<Buffer, Recycle>();
  readonly #free: Buffer[] = [];
  #buffer: Buffer | undefined;
  #used = 0;

  constructor({ start, end }: ResolvedRange) {
    this.start = start;
    this.end = end + 1;
  }

  /** Returns whether any byte from `start` to the byte before `end` is in the range. */
  overlaps(start: number, end: number): boolean {
    return start < end && start < this.end && end > this.start;
  }

  /** Adds the bytes at a position of the archive. `recycle` is called with `bytes` when they are sent or copied. */
  *add(bytes: Buffer, position: number, recycle?: Recycle): Generator<Buffer> {
    const part = bytes.subarray(Math.max(0, this.start - position), Math.max(0, this.end - position));
    if (part.length > MAX_COMBINED_BYTES) {
      yield* this.flush();
      if (recycle) this.#recyclers.set(part, () => recycle(bytes));
      yield part;
      return;
    }
    for (let copied = 0; copied < part.length; ) {
      this.#buffer ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);
      const count = part.copy(this.#buffer, this.#used, copied);
      this.#used += count;
      copied += count;
      if (this.#used === BUFFER_BYTES) yield* this.flush();
    }
    recycle?.(bytes);
  }

  /** Yields what was combined. */
  *flush(): Generator<Buffer> {
    const buffer = this.#buffer;
    if (!buffer) return;
    const part = buffer.subarray(0, this.#used);
    this.#buffer = undefined;
    this.#used = 0;
    this.#recyclers.set(part, () => {
      if (this.#free.length < MAX_FREE_BUFFERS) this.#free.push(buffer);
    });
    yield part;
  }

  /** Recycles a buffer that was sent. */
  recycle(chunk: Buffer): void {
    this.#recyclers.get(chunk)?.(chunk);
    this.#recyclers.delete(chunk);
  }
}
