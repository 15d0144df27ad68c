import { Readable } from 'node:stream';
import type { FilePath, FolderPath } from '../../model/path.ts';
import type { Entry, Store } from '../../model/store.ts';

/** The effect of a member of `Store` on stored data. */
export type Effect = 'reads' | 'writes' | 'neither';

/**
 * The effect of every member, for layers. A new member of `Store` does not compile until it is listed here. No layer
 * can therefore pass on a member that it does not know.
 */
export const EFFECTS = {
  list: 'reads',
  hasFolder: 'reads',
  identify: 'reads',
  now: 'reads',
  state: 'reads',
  changeSince: 'reads',
  space: 'reads',
  stat: 'reads',
  read: 'reads',
  walk: 'reads',
  check: 'reads',
  presign: 'reads',
  readCached: 'reads',
  write: 'writes',
  stage: 'writes',
  createUpload: 'writes',
  openUpload: 'writes',
  removeUploads: 'writes',
  presignParts: 'writes',
  remove: 'writes',
  createFolder: 'writes',
  removeFolder: 'writes',
  setModified: 'writes',
  copy: 'writes',
  move: 'writes',
  copyFolder: 'writes',
  moveFolder: 'writes',
  removeTree: 'writes',
  listTrash: 'reads',
  findTrashed: 'reads',
  measureTrashed: 'reads',
  moveToTrash: 'writes',
  restoreTrashed: 'writes',
  purgeTrashed: 'writes',
  listVersions: 'reads',
  readVersion: 'reads',
  restoreVersion: 'writes',
  purgeVersions: 'writes',
  expireVersions: 'writes',
  quota: 'neither',
  isPrivileged: 'neither',
  isSizeCertain: 'neither',
  maxPathBytes: 'neither',
  watch: 'neither',
  close: 'neither',
} as const satisfies Record<keyof Store, Effect>;

export type Member = keyof Store;

/**
 * Members that layers leave unchanged, because they return at once and never throw: `quota` and `isPrivileged` send no
 * request, `readCached` returns undefined if the backend does not respond, and `watch` works in the background.
 */
const IMMEDIATE = [
  'quota',
  'readCached',
  'isPrivileged',
  'isSizeCertain',
  'maxPathBytes',
  'watch',
] as const satisfies readonly Member[];

/** The members that return a promise. */
export type Call = Exclude<Member, (typeof IMMEDIATE)[number] | 'walk'>;

/** What a layer does around the members of a store. */
export interface Layer {
  /** Runs a call with its arguments. A layer may run it several times, or not at all. */
  call<Result>(member: Call, run: () => Promise<Result>, args: readonly unknown[]): Promise<Result>;
  /** Runs `Store.walk` for a folder. */
  walk(run: () => AsyncIterable<Entry>, folder: FolderPath): AsyncIterable<Entry>;
}

/**
 * Returns the store with `layer` around every member except the immediate ones. Optional members that the store lacks
 * stay undefined.
 */
export function wrap(store: Store, layer: Layer): Store {
  const wrapped: Partial<Record<Member, unknown>> = {};
  for (const member of Object.keys(EFFECTS) as Member[]) {
    const original = store[member] as ((...args: unknown[]) => Promise<unknown>) | undefined;
    if (!original) continue;
    const call = (...args: unknown[]) => original.apply(store, args);
    wrapped[member] = isCall(member) ? (...args: unknown[]) => layer.call(member, () => call(...args), args) : call;
  }
  if (store.walk) {
    wrapped.walk = (...args: Parameters<NonNullable<Store['walk']>>) =>
      layer.walk(() => store.walk?.(...args) ?? none(), args[0]);
  }
  return wrapped as unknown as Store;
}

const isCall = (member: Member): member is Call => member !== 'walk' && !IMMEDIATE.some((each) => each === member);

async function* none(): AsyncIterable<Entry> {}

/** Yields the entries of a walk, and runs `around` for each step to the next entry. */
export async function* stepwise(
  entries: AsyncIterable<Entry>,
  around: (next: () => Promise<IteratorResult<Entry>>) => Promise<IteratorResult<Entry>>,
): AsyncIterable<Entry> {
  const iterator = entries[Symbol.asyncIterator]();
  let isFinished = false;
  try {
    for (;;) {
      const result = await around(() => iterator.next());
      isFinished = result.done === true;
      if (result.done) return;
      yield result.value;
    }
  } finally {
    // Not awaited: a step that timed out might never end, and a generator returns only after its current step.
    if (!isFinished) iterator.return?.().catch(() => {});
  }
}

/** Returns the body among the arguments of a call, if there is one. */
export function bodyIn(args: readonly unknown[]): Readable | undefined {
  const upload = args.find((each) => typeof each === 'object' && each !== null && 'body' in each);
  return upload?.body instanceof Readable ? upload.body : undefined;
}

/** Returns the path in an argument of a member of `Store`: a path, the entry of a file, or the destination of an upload. */
export function pathIn(argument: unknown): FilePath | FolderPath | undefined {
  if (typeof argument === 'string') return argument as FilePath;
  if (typeof argument !== 'object' || argument === null) return undefined;
  const path = 'path' in argument ? argument.path : 'file' in argument ? argument.file : undefined;
  return typeof path === 'string' ? (path as FilePath) : undefined;
}
