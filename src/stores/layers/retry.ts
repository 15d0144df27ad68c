import { setTimeout as delay } from 'node:timers/promises';
import { isStoreError } from '../../model/error.ts';
import type { Store } from '../../model/store.ts';
import { EFFECTS, wrap } from './wrap.ts';

export interface RetryOptions {
  /** Maximum calls, including the first one. */
  readonly attempts: number;
  /** Milliseconds before the second call. Doubles for each retry, with jitter of ±50 %. */
  readonly delay: number;
  /** Called before each retry. */
  readonly retried?: () => void;
}

/**
 * Returns the store with reads retried on `unavailable`. Writes are not retried: the body may be consumed, or the write
 * may have succeeded although its response was lost.
 */
export function retry(store: Store, { attempts, delay: first, retried }: RetryOptions): Store {
  return wrap(store, async (member, run) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        const again = EFFECTS[member] === 'reads' && isStoreError(error, 'unavailable') && attempt < attempts;
        if (!again) throw error;
        retried?.();
        await delay(first * 2 ** (attempt - 1) * (0.5 + Math.random()));
      }
    }
  });
}
