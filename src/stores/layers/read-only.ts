import type { PendingUpload, Store } from '../../model/store.ts';
import { readOnlyError } from '../../model/store-errors.ts';
import { bodyIn, EFFECTS, wrap } from './wrap.ts';

/** Returns the store with every change rejected as `denied`. Unfinished uploads can be opened, but not changed. */
export function readOnly(store: Store): Store {
  const { openUpload } = store;
  const denying = wrap(store, {
    async call(member, run, args) {
      if (EFFECTS[member] !== 'writes') return run();
      bodyIn(args)?.destroy();
      throw readOnlyError();
    },
    walk: (run) => run(),
  });
  if (!openUpload) return denying;
  return { ...denying, openUpload: async (...args) => readOnlyUpload(await openUpload.apply(store, args)) };
}

/** Returns the upload with its offset, and every change rejected. */
function readOnlyUpload({ offset }: PendingUpload): PendingUpload {
  return {
    offset,
    async append(body) {
      body.destroy();
      throw readOnlyError();
    },
    async commit() {
      throw readOnlyError();
    },
    async remove() {
      throw readOnlyError();
    },
  };
}
