import type { Store } from '../domain/store.ts';

/** What a member of `Store` does to what is stored. */
export type Effect = 'reads' | 'writes' | 'neither';

/**
 * Every member and its effect, for wrappers: a member that is added to `Store` does not compile until it stands
 * here, so that no layer lets one through that it never heard of.
 */
export const EFFECTS = {
  list: 'reads',
  stat: 'reads',
  read: 'reads',
  walk: 'reads',
  check: 'reads',
  presign: 'reads',
  write: 'writes',
  stage: 'writes',
  remove: 'writes',
  createFolder: 'writes',
  removeFolder: 'writes',
  copy: 'writes',
  move: 'writes',
  copyFolder: 'writes',
  moveFolder: 'writes',
  removeTree: 'writes',
  close: 'neither',
} as const satisfies Record<keyof Store, Effect>;

export type Member = keyof Store;

/** A member other than `walk`, which gives a sequence and no promise. */
export type Call = Exclude<Member, 'walk'>;

/** Runs a call of a member; a layer may run it more than once, or not at all. */
export type Around = <Result>(member: Call, run: () => Promise<Result>, path: unknown) => Promise<Result>;

/**
 * The same store with `around` about each call. Members that the store lacks are lacking here too. `walk` passes
 * as it is: what it gives is read by its caller, page by page.
 */
export function wrap(store: Store, around: Around): Store {
  const wrapped: Partial<Record<Member, unknown>> = {};
  for (const member of Object.keys(EFFECTS) as Member[]) {
    const original = store[member] as ((...args: unknown[]) => Promise<unknown>) | undefined;
    if (!original) continue;
    const call = (...args: unknown[]) => original.apply(store, args);
    wrapped[member] = member === 'walk' ? call : (...args: unknown[]) => around(member, () => call(...args), args[0]);
  }
  return wrapped as unknown as Store;
}
