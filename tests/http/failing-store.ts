import type { Store } from '../../src/model/store.ts';

/** A store of which every member throws what `error` gives. */
export function failing(error: () => unknown): (store: Store) => Store {
  return (store) => {
    const members = Object.keys(store).map((name) => [
      name,
      async (...args: unknown[]) => {
        for (const argument of args) if (hasBody(argument)) argument.body.destroy();
        throw error();
      },
    ]);
    // It looks at a path alone and never fails.
    // These return at once, and never throw.
    const { isPrivileged, isSizeCertain } = store;
    return {
      ...Object.fromEntries(members),
      ...(isPrivileged && { isPrivileged }),
      ...(isSizeCertain && { isSizeCertain }),
    };
  };
}

const hasBody = (value: unknown): value is { body: { destroy(): void } } =>
  typeof value === 'object' && value !== null && 'body' in value;
