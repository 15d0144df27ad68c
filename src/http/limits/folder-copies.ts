import { createFairSemaphore } from '../../concurrency/fair-semaphore.ts';

/** Maximum copies of folders that a process runs in requests at a time, and those that wait. Other copies are jobs. */
const MAX_COPIES = 4;
const MAX_WAITING_COPIES = 64;
const MAX_WAITING_COPIES_PER_CLIENT = 8;

/** Copies a folder in the request of a client: one at a time for each client, which take turns. Throws `overloaded` if too many wait. */
export type FolderCopyLimiter = (client: string, copy: () => Promise<unknown>, signal?: AbortSignal) => Promise<void>;

export function createFolderCopyLimiter(): FolderCopyLimiter {
  const copies = createFairSemaphore({
    limit: MAX_COPIES,
    limitPerClient: 1,
    maxWaiting: MAX_WAITING_COPIES,
    maxWaitingPerClient: MAX_WAITING_COPIES_PER_CLIENT,
    busyMessage: 'Too many copies of folders',
  });
  return async (client, copy, signal) => {
    const release = await copies.acquire(client, signal);
    try {
      await copy();
    } finally {
      release();
    }
  };
}
