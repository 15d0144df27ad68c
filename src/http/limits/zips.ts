import { createFairSemaphore } from '../../concurrency/fair-semaphore.ts';
import { StoreError } from '../../model/error.ts';

/** Maximum archives that a process sends at a time, and those of one client. A slow client takes hours. */
export const MAX_ZIPS = 64;
export const MAX_ZIPS_PER_CLIENT = 8;

/** Maximum archives of a process whose folders are listed at a time, and those that wait. */
const MAX_WALKS = 4;
const MAX_WAITING_WALKS = 64;

/** Maximum bytes of memory for the layouts of all archives of a process. That of the largest archive takes a fifth. */
const MAX_LAYOUT_BYTES = 192 * 2 ** 20;

const RETRY_AFTER_SECONDS = 10;

/** A place for one archive. */
export interface ZipPlace {
  /** Reserves memory. Throws `overloaded` if other archives have taken it. */
  reserve(bytes: number): void;
  /** Frees the place and its memory. Call it exactly once. */
  release(): void;
}

/** Limits the archives that a process sends at a time. */
export class ZipLimiter {
  readonly #perClient = new Map<string, number>();
  readonly #walks = createFairSemaphore({
    limit: MAX_WALKS,
    limitPerClient: 1,
    maxWaiting: MAX_WAITING_WALKS,
    maxWaitingPerClient: MAX_ZIPS_PER_CLIENT,
    busyMessage: 'Too many archives',
  });
  #count = 0;
  #bytes = 0;

  /** Lists the content of an archive: one at a time for each client, which take turns. Throws `overloaded` if too many wait. */
  async walk<Result>(client: string, run: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const release = await this.#walks.acquire(client, signal);
    try {
      return await run();
    } finally {
      release();
    }
  }

  /** Takes a place for a client. Throws `overloaded` if all places are taken, because a download can take hours. */
  enter(client: string): ZipPlace {
    const ofClient = this.#perClient.get(client) ?? 0;
    if (ofClient >= MAX_ZIPS_PER_CLIENT) throw overloaded(`${ofClient} archives are being sent to your address`);
    if (this.#count >= MAX_ZIPS) throw overloaded(`The service is sending ${this.#count} archives`);
    this.#perClient.set(client, ofClient + 1);
    this.#count++;
    let reserved = 0;
    return {
      reserve: (bytes) => {
        if (this.#bytes + bytes > MAX_LAYOUT_BYTES)
          throw overloaded('The archives that the service is sending have too many files');
        this.#bytes += bytes;
        reserved += bytes;
      },
      release: () => {
        this.#bytes -= reserved;
        this.#count--;
        const others = (this.#perClient.get(client) ?? 1) - 1;
        if (others > 0) this.#perClient.set(client, others);
        else this.#perClient.delete(client);
      },
    };
  }
}

function overloaded(reason: string): StoreError {
  return new StoreError('overloaded', `${reason}. Try again when one of them has ended.`, {
    retryAfter: RETRY_AFTER_SECONDS,
  });
}
