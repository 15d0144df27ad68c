import { StoreError } from '../model/error.ts';

/** Limits the number of concurrent tasks, with a bounded queue. */
export interface Semaphore {
  /**
   * Waits for a free slot, in order of the calls. Resolves to a function that releases the slot; call it exactly
   * once. Rejects with `unavailable` if the queue is full, and with the reason of `signal` if it aborts, without
   * taking a slot.
   */
  acquire(signal?: AbortSignal): Promise<() => void>;
  /** Returns the number of callers in the queue. */
  waiting(): number;
  /** Resolves when no slot is taken. */
  idle(): Promise<void>;
}

export interface SemaphoreOptions {
  readonly places: number;
  readonly queue: number;
  /** Start of the error message for a full queue: `Too many …`. The message continues with `at once`. */
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
