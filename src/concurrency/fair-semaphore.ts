import { StoreError } from '../model/error.ts';

/** Limits the number of concurrent tasks. Clients with waiting tasks take turns, so that no client delays all others. */
export interface FairSemaphore {
  /**
   * Waits for a free slot. Resolves to a function that releases the slot; call it exactly once. Rejects with `overloaded` if too
   * many tasks wait, of the client or in all, and with the reason of `signal` if it aborts.
   */
  acquire(client: string, signal?: AbortSignal): Promise<() => void>;
}

export interface FairSemaphoreOptions {
  /** Maximum number of concurrent tasks, and of those of one client. */
  readonly limit: number;
  readonly limitPerClient: number;
  /** Maximum number of waiting tasks, and of those of one client. */
  readonly maxWaiting: number;
  readonly maxWaitingPerClient: number;
  /** Start of the error message for a full queue: `Too many …`. The message continues with `are in progress`. */
  readonly busyMessage: string;
}

interface Client {
  running: number;
  readonly queue: Set<() => void>;
}

export function createFairSemaphore(options: FairSemaphoreOptions): FairSemaphore {
  const { limit, limitPerClient, maxWaiting, maxWaitingPerClient, busyMessage } = options;
  /** The clients with tasks. The next turn is that of the first one. */
  const clients = new Map<string, Client>();
  let running = 0;
  let waiting = 0;

  const startNext = () => {
    if (running >= limit) return;
    for (const [key, client] of clients) {
      const [start] = client.queue;
      if (!start || client.running >= limitPerClient) continue;
      // Moves the client to the end.
      clients.delete(key);
      clients.set(key, client);
      return start();
    }
  };

  const release = (key: string, client: Client) => {
    running--;
    client.running--;
    if (client.running === 0 && client.queue.size === 0) clients.delete(key);
    startNext();
  };

  return {
    async acquire(key, signal) {
      signal?.throwIfAborted();
      const client = clients.get(key) ?? { running: 0, queue: new Set() };
      const isBusy = running >= limit || client.running >= limitPerClient;
      if (isBusy && (waiting >= maxWaiting || client.queue.size >= maxWaitingPerClient)) {
        throw new StoreError('overloaded', `${busyMessage} are in progress. Try again in a second.`, { retryAfter: 1 });
      }
      clients.set(key, client);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const leave = () => {
        client.queue.delete(start);
        waiting--;
        signal?.removeEventListener('abort', abort);
      };
      const start = () => {
        leave();
        running++;
        client.running++;
        resolve();
      };
      const abort = () => {
        leave();
        if (client.running === 0 && client.queue.size === 0) clients.delete(key);
        reject(signal?.reason);
      };
      client.queue.add(start);
      waiting++;
      signal?.addEventListener('abort', abort, { once: true });
      startNext();
      await promise;
      return () => release(key, client);
    },
  };
}
