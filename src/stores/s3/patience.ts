import { setTimeout as delay } from 'node:timers/promises';
import { isStoreError } from '../../domain/error.ts';
import type { Cancellable } from '../../domain/store.ts';

/** How often something is tried that the store is too busy for; each has several requests, with pauses between them. */
const ATTEMPTS = 3;

/** Milliseconds before it is tried again, more or less. */
const PAUSE = 1000;

/** Does a part of something larger: a store that is too busy for one of thousands must not end the work on all of them. */
export async function patiently<Output>(work: () => Promise<Output>, { signal }: Cancellable): Promise<Output> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !isStoreError(error, 'unavailable')) throw error;
      await delay(PAUSE * (0.5 + Math.random()), undefined, { signal });
    }
  }
}
