import { setTimeout as delay } from 'node:timers/promises';
import { isStoreError } from '../../model/error.ts';
import type { Store } from '../../model/store.ts';
import { EFFECTS, wrap } from './wrap.ts';

export interface RetryOptions {
  /** Maximum calls, including the first one. */
  readonly maxAttempts: number;
  /** Milliseconds before the second call. Doubles for each retry, with jitter of ±50 %. */
  readonly delayMs: number;
  /** Called before each retry. */
  readonly onRetry?: () => void;
}

/**
 * Returns the store with reads retried on `unavailable`. Writes are not retried: the body might be consumed, or the
 * write might have succeeded although its response was lost. A walk is not retried, because it can't resume in the
 * middle.
 */
export function retry(store: Store, { maxAttempts, delayMs, onRetry }: RetryOptions): Store {
  return wrap(store, {
    async call(member, run) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await run();
        } catch (error) {
          const canRetry = EFFECTS[member] === 'reads' && isStoreError(error, 'unavailable') && attempt < maxAttempts;
          if (!canRetry) throw error;
          onRetry?.();
          await delay(delayMs * 2 ** (attempt - 1) * (0.5 + Math.random()));
        }
      }
    },
    walk: (run) => run(),
  });
}
