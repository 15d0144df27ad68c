import { StoreError } from '../model/error.ts';

/** A bounded number of places for work, and a bounded queue before them. */
export interface Semaphore {
  /**
   * Waits for a place, first come, first served, and gives the function that gives it back, to be called once.
   * `unavailable` when the queue is full; rejects with the signal's reason when it aborts, and then takes no place.
   */
  acquire(signal?: AbortSignal): Promise<() => void>;
  /** How many wait for a place. */
  waiting(): number;
  /** Resolves when all places are free. */
  idle(): Promise<void>;
}

export interface SemaphoreOptions {
  readonly places: number;
  readonly queue: number;
  /** What there is too much of, as the message for those who find the queue full begins: `Too many … at once`. */
  readonly busyMessage: string;
}

export function createSemaphore({ places, queue, busyMessage }: SemaphoreOptions): Semaphore {
  const waiting = new Set<() => void>();
  const watching = new Set<() => void>();
  let taken = 0;

  const leave = () => {
    const [next] = waiting;
    if (next) return next();
    taken--;
    if (taken > 0) return;
    for (const watcher of watching) watcher();
    watching.clear();
  };

  const waitForPlace = (signal: AbortSignal | undefined) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => {
      waiting.delete(enter);
      reject(signal?.reason);
    };
    const enter = () => {
      waiting.delete(enter);
      signal?.removeEventListener('abort', abort);
      resolve();
    };
    waiting.add(enter);
    signal?.addEventListener('abort', abort, { once: true });
    return promise;
  };

  return {
    async acquire(signal) {
      signal?.throwIfAborted();
      if (taken < places) taken++;
      else if (waiting.size < queue) await waitForPlace(signal);
      else throw queueIsFull(busyMessage, queue);
      return leave;
    },

    waiting: () => waiting.size,
    idle: () => new Promise((resolve) => (taken === 0 ? resolve() : watching.add(resolve))),
  };
}

function queueIsFull(crowd: string, queue: number): StoreError {
  const message = `${crowd} at once: ${queue} are waiting already. Try again in a second.`;
  return new StoreError('unavailable', message, { retryAfter: 1 });
}
