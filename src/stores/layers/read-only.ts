import type { Store } from '../../model/store.ts';
import { readOnlyError } from '../../model/store-errors.ts';
import { bodyIn, EFFECTS, wrap } from './wrap.ts';

/** Returns the store with every change rejected as `denied`. */
export function readOnly(store: Store): Store {
  return wrap(store, {
    async call(member, run, args) {
      if (EFFECTS[member] !== 'writes') return run();
      bodyIn(args)?.destroy();
      throw readOnlyError();
    },
    walk: (run) => run(),
  });
}
