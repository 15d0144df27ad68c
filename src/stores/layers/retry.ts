import { setTimeout as delay } from 'node:timers/promises';
import { isStoreError } from '../../model/error.ts';
import type { Store } from '../../model/store.ts';
import { EFFECTS, wrap } from './wrap.ts';

export interface RetryOptions {
  /** Calls in all, the first one included. */
  readonly attempts: number;
  /** Milliseconds before the second call; doubled for each further one, and varied so that callers spread. */
  readonly delay: number;
  /** Told of each further call. */
  readonly retried?: () => void;
}

/**
 * The same store, asking again where it was `unavailable`. Only what reads is asked again: a write may have
 * consumed its body, or been done although its answer was lost.
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
