import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asError } from '../model/error.ts';
import type { ResolvedRange } from '../model/range.ts';
import { setRecycler } from '../streams/chunk-recycling.ts';

/** Pieces up to this size are combined: a write of the system costs more than the copy. */
const MAX_COMBINED_BYTES = 32 * 1024;

const BUFFER_BYTES = 64 * 1024;

/** Buffers that are kept for reuse. */
const MAX_FREE_BUFFERS = 4;

/** Bytes that wait for the client, so that checksums are computed and files are read while it receives earlier ones. */
const WAITING_BYTES = 2 ** 20;

type Recycle = (chunk: Buffer) => void;

/**
 * The bytes of a range of an archive, as a stream: cuts the pieces that are added, in order, to the range, and combines
 * small ones. Buffers are reused when they are recycled.
 */
export class Output extends Readable {
  readonly start: number;
  /** The position after the last byte. */
  readonly end: number;
  readonly #recyclers = new WeakMap<Buffer, Recycle>();
  readonly #free: Buffer[] = [];
  #buffer: Buffer | undefined;
  #used = 0;
  #isFull = false;
  #waiting: PromiseWithResolvers<void> | undefined;
  #produce: (() => Promise<void>) | undefined;

  /** Calls `produce`, which adds all pieces, when the stream is first read. Its error destroys the stream. */
  constructor({ start, end }: ResolvedRange, produce: () => Promise<void>) {
    super({ highWaterMark: WAITING_BYTES });
    this.start = start;
    this.end = end + 1;
    this.#produce = produce;
    setRecycler(this, (chunk) => this.#recycle(chunk));
  }

  /** Whether enough bytes wait for the client. Wait for `drained` then before the next call of `add`. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Resolves when the client has received bytes. Rejects if the stream is destroyed. */
  drained(): Promise<void> {
    if (this.destroyed) return Promise.reject(downloadEnded());
    if (!this.#isFull) return Promise.resolve();
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  /** Returns whether any byte from `start` to the byte before `end` is in the range. */
  overlaps(start: number, end: number): boolean {
    return start < end && start < this.end && end > this.start;
  }

  /** Adds the bytes at a position of the archive. `recycle` is called with `bytes` when they are sent or copied. */
  add(bytes: Buffer, position: number, recycle?: Recycle): void {
    const part = bytes.subarray(Math.max(0, this.start - position), Math.max(0, this.end - position));
    if (part.length > MAX_COMBINED_BYTES) {
      this.#flush();
      if (recycle) this.#recyclers.set(part, () => recycle(bytes));
      this.#send(part);
      return;
    }
    for (let copied = 0; copied < part.length; ) {
      this.#buffer ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);
      const count = part.copy(this.#buffer, this.#used, copied);
      this.#used += count;
      copied += count;
      if (this.#used === BUFFER_BYTES) this.#flush();
    }
    recycle?.(bytes);
  }

  override _read(): void {
    this.#isFull = false;
    this.#waiting?.resolve();
    this.#waiting = undefined;
    if (!this.#produce) return;
    void this.#run(this.#produce);
    this.#produce = undefined;
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#waiting?.reject(error ?? downloadEnded());
    this.#waiting = undefined;
    callback(error);
  }

  async #run(produce: () => Promise<void>): Promise<void> {
    try {
      await produce();
      this.#flush();
      this.push(null);
    } catch (error) {
      // The first bytes are sent in this turn, with the status and the headers of the response.
      await nextTurn();
      this.destroy(asError(error));
    }
  }

  /** Sends what was combined. */
  #flush(): void {
    const buffer = this.#buffer;
    if (!buffer) return;
    const part = buffer.subarray(0, this.#used);
    this.#buffer = undefined;
    this.#used = 0;
    this.#recyclers.set(part, () => {
      if (this.#free.length < MAX_FREE_BUFFERS) this.#free.push(buffer);
    });
    this.#send(part);
  }

  #send(chunk: Buffer): void {
    if (!this.push(chunk)) this.#isFull = true;
  }

  /** Recycles a buffer that was sent. */
  #recycle(chunk: Buffer): void {
    this.#recyclers.get(chunk)?.(chunk);
    this.#recyclers.delete(chunk);
  }
}

/** Returns the error that ends the reads of a download whose client has disconnected. */
export const downloadEnded = () => new Error('The download ended.');
