import { Readable } from 'node:stream';
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
  atHand: 'reads',
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

/** The members that need not give a promise: what a layer does around a call, it can't do around these. */
const IMMEDIATE = ['walk', 'quota', 'atHand', 'isPrivileged'] as const satisfies readonly Member[];

/** Every other member. */
export type Call = Exclude<Member, (typeof IMMEDIATE)[number]>;

/** Runs a call of a member with its arguments; a layer may run it more than once, or not at all. */
export type Around = <Result>(member: Call, run: () => Promise<Result>, args: readonly unknown[]) => Promise<Result>;

/**
 * The same store with `around` about each call. Members that the store lacks are lacking here too. Those that need not
 * give a promise pass as they are.
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

/** The body among the arguments of a call that brings one. */
export function bodyIn(args: readonly unknown[]): Readable | undefined {
  const upload = args.find((each) => typeof each === 'object' && each !== null && 'body' in each);
  return upload?.body instanceof Readable ? upload.body : undefined;
}
