import { StoreError } from './error.ts';

/** A bounded number of places for work, and a bounded queue before them. */
export interface Places {
  /**
   * Waits for a place, first come, first served, and gives the function that gives it back, to be called once.
   * `unavailable` when the queue is full; rejects with the signal's reason when it aborts, and then takes no place.
   */
  enter(signal?: AbortSignal): Promise<() => void>;
  /** How many wait for a place. */
  waiting(): number;
  /** Resolves when all places are free. */
  free(): Promise<void>;
}

export interface PlacesOptions {
  readonly places: number;
  readonly queue: number;
  /** What there is too much of, as the message for those who find the queue full begins: `Too many … at once`. */
  readonly crowd: string;
}

export function createPlaces({ places, queue, crowd }: PlacesOptions): Places {
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
    async enter(signal) {
      signal?.throwIfAborted();
      if (taken < places) taken++;
      else if (waiting.size < queue) await waitForPlace(signal);
      else throw queueIsFull(crowd, queue);
      return leave;
    },

    waiting: () => waiting.size,
    free: () => new Promise((resolve) => (taken === 0 ? resolve() : watching.add(resolve))),
  };
}

function queueIsFull(crowd: string, queue: number): StoreError {
  const message = `${crowd} at once: ${queue} are waiting already. Try again in a second.`;
  return new StoreError('unavailable', message, { retryAfter: 1 });
}
