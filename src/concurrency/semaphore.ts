import { StoreError } from '../model/error.ts';

/** Limits the number of concurrent tasks, with a bounded queue. */
export interface Semaphore {
  /**
   * Waits for a free slot, in order of the calls. Resolves to a function that releases the slot; call it exactly
   * once. Rejects with `overloaded` if the queue is full, and with the reason of `signal` if it aborts, without
   * taking a slot.
   */
  acquire(signal?: AbortSignal): Promise<() => void>;
  /** Returns the number of callers in the queue. */
  waiting(): number;
  /** Resolves when no slot is taken. */
  idle(): Promise<void>;
}

export interface SemaphoreOptions {
  /** Maximum number of concurrent tasks. */
  readonly limit: number;
  /** Maximum number of callers in the queue. */
  readonly maxWaiting: number;
  /** Start of the error message for a full queue: `Too many …`. The message continues with `are in progress`. */
  readonly busyMessage: string;
}

export function createSemaphore({ limit, maxWaiting, busyMessage }: SemaphoreOptions): Semaphore {
  const queue = new Set<() => void>();
  const idleWaiters = new Set<() => void>();
  let running = 0;

  const release = () => {
    const [next] = queue;
    if (next) return next();
    running--;
    if (running > 0) return;
    for (const resolve of idleWaiters) resolve();
    idleWaiters.clear();
  };

  const waitForSlot = (signal: AbortSignal | undefined) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => {
      queue.delete(start);
      reject(signal?.reason);
    };
    const start = () => {
      queue.delete(start);
      signal?.removeEventListener('abort', abort);
      resolve();
    };
    queue.add(start);
    signal?.addEventListener('abort', abort, { once: true });
    return promise;
  };

  return {
    async acquire(signal) {
      signal?.throwIfAborted();
      if (running < limit) running++;
      else if (queue.size < maxWaiting) await waitForSlot(signal);
      else throw queueIsFull(busyMessage, maxWaiting);
      return release;
    },

    waiting: () => queue.size,
    idle: () => new Promise((resolve) => (running === 0 ? resolve() : idleWaiters.add(resolve))),
  };
}

function queueIsFull(busyMessage: string, maxWaiting: number): StoreError {
  const message = `${busyMessage} are in progress, and ${maxWaiting} are waiting. Try again in a second.`;
  return new StoreError('overloaded', message, { retryAfter: 1 });
}
