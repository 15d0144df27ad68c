import { StoreError } from '../domain/error.ts';
import type { Store } from '../domain/store.ts';
import { EFFECTS, wrap } from './members.ts';

/** The same store, with everything that would change it `denied`. */
export function readOnly(store: Store): Store {
  return wrap(store, async (member, run) => {
    if (EFFECTS[member] === 'writes') throw new StoreError('denied', 'This service is read-only.');
    return run();
  });
}
