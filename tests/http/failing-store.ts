import type { Store } from '../../src/model/store.ts';

/** Returns a store whose members all throw the result of `error`. */
export function failing(error: () => unknown): (store: Store) => Store {
  return (store) => {
    const members = Object.keys(store).map((name) => [
      name,
      async (...args: unknown[]) => {
        for (const argument of args) if (hasBody(argument)) argument.body.destroy();
        throw error();
      },
    ]);
    // These members return immediately and never throw.
    const { isPrivileged, isSizeCertain, maxPathBytes } = store;
    return {
      ...Object.fromEntries(members),
      ...(isPrivileged && { isPrivileged }),
      ...(isSizeCertain && { isSizeCertain }),
      ...(maxPathBytes && { maxPathBytes }),
    };
  };
}

const hasBody = (value: unknown): value is { body: { destroy(): void } } =>
  typeof value === 'object' && value !== null && 'body' in value;
