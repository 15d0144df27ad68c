import { Readable } from 'node:stream';
import type { Store } from '../../model/store.ts';

/** The effect of a member of `Store` on stored data. */
export type Effect = 'reads' | 'writes' | 'neither';

/**
 * The effect of every member, for layers. A new member of `Store` does not compile until it is listed here. No layer
 * can therefore pass on a member that it does not know.
 */
export const EFFECTS = {
  list: 'reads',
  stat: 'reads',
  read: 'reads',
  walk: 'reads',
  check: 'reads',
  presign: 'reads',
  readCached: 'reads',
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
  quota: 'neither',
  isPrivileged: 'neither',
  close: 'neither',
} as const satisfies Record<keyof Store, Effect>;

export type Member = keyof Store;

/** The members that need not return a promise. A layer can't wrap these calls. */
const IMMEDIATE = ['walk', 'quota', 'readCached', 'isPrivileged'] as const satisfies readonly Member[];

/** All other members. */
export type Call = Exclude<Member, (typeof IMMEDIATE)[number]>;

/** Runs a call of a member with its arguments. A layer may run it several times, or not at all. */
export type Around = <Result>(member: Call, run: () => Promise<Result>, args: readonly unknown[]) => Promise<Result>;

/**
 * Returns the store with `around` applied to each call. Optional members that the store lacks stay undefined.
 * Members in `IMMEDIATE` stay unchanged.
 */
export function wrap(store: Store, around: Around): Store {
  const wrapped: Partial<Record<Member, unknown>> = {};
  for (const member of Object.keys(EFFECTS) as Member[]) {
    const original = store[member] as ((...args: unknown[]) => Promise<unknown>) | undefined;
    if (!original) continue;
    const call = (...args: unknown[]) => original.apply(store, args);
    wrapped[member] = isCall(member) ? (...args: unknown[]) => around(member, () => call(...args), args) : call;
  }
  return wrapped as unknown as Store;
}

const isCall = (member: Member): member is Call => !IMMEDIATE.some((each) => each === member);

/** Returns the body among the arguments of a call, if there is one. */
export function bodyIn(args: readonly unknown[]): Readable | undefined {
  const upload = args.find((each) => typeof each === 'object' && each !== null && 'body' in each);
  return upload?.body instanceof Readable ? upload.body : undefined;
}
