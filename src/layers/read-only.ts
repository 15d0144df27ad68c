import { readOnlyError } from '../domain/problems.ts';
import type { Store } from '../domain/store.ts';
import { bodyIn, EFFECTS, wrap } from './members.ts';

/** Returns the store with every change rejected as `denied`. */
export function readOnly(store: Store): Store {
  return wrap(store, async (member, run, args) => {
    if (EFFECTS[member] !== 'writes') return run();
    bodyIn(args)?.destroy();
    throw readOnlyError();
  });
}
