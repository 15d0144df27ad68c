import { isExpired } from '../model/clock.ts';
import { undefinedIfNotFound } from '../model/error.ts';
import type { Cancellable, Reporting, Store, TrashedItem, TrashStore } from '../model/store.ts';
import { MAX_PAGE } from '../model/store.ts';
import { type BoundedItem, ownerOf, SizeBound } from './size-bound.ts';
import { outcomeOfPurge, trashOf } from './trash.ts';

/** How long deleted and replaced content is kept, and how much of it. */
export interface RetentionLimits {
  /** Undefined if the trash is off: its items then remain. */
  readonly trash: KeptLimits | undefined;
  readonly versions: KeptLimits | undefined;
}

interface KeptLimits {
  readonly days: number;
  /** Undefined for no limit. */
  readonly maxBytes: number | undefined;
}

/** The numbers of removed items and versions. */
export interface Expired {
  readonly trashed: number;
  readonly versions: number;
}

const MS_PER_DAY = 24 * 60 * 60_000;

/**
 * Permanently removes the items in the trash and the versions that exceed the limits. Of the items, it holds at most those
 * of one minute of each owner in memory. Can be interrupted at any point, and run by several processes at a time.
 */
export async function expireKept(
  store: Store,
  { trash, versions }: RetentionLimits,
  options: Reporting & Cancellable = {},
  now = Date.now(),
): Promise<Expired> {
  const trashStore = trash && trashOf(store);
  const trashed = trashStore ? await expireTrash(trashStore, boundsOf(trash, now), options) : 0;
  const expired = versions && (await store.expireVersions?.({ ...boundsOf(versions, now), signal: options.signal }));
  return { trashed, versions: expired?.removed ?? 0 };
}

interface Bounds {
  readonly before: Date;
  readonly maxBytes: number | undefined;
}

const boundsOf = ({ days, maxBytes }: KeptLimits, now: number): Bounds => ({
  before: new Date(now - days * MS_PER_DAY),
  maxBytes,
});

async function expireTrash(
  trash: TrashStore,
  { before, maxBytes }: Bounds,
  { signal, onProgress }: Reporting & Cancellable,
): Promise<number> {
  const purge = trash.purgeTrashed;
  if (!purge) return 0;
  const bound = maxBytes === undefined ? undefined : new SizeBound(maxBytes);
  if (bound) {
    do {
      for await (const item of itemsOf(trash, signal)) {
        if (!isExpired(item.deletedAt, before)) bound.note(await boundedItem(trash, item, signal));
      }
    } while (bound.decide());
  }

  const progress = { done: 0, total: null, bytes: 0 };
  const remove = async ({ id, size = 0 }: TrashedItem) => {
    signal?.throwIfAborted();
    // The store logs why an item can't be removed. The next expiry tries it again.
    if (!(await outcomeOfPurge(purge(id, { signal }))).isPurged) return;
    progress.done++;
    progress.bytes += size;
    onProgress?.({ ...progress });
  };
  const undecided: (TrashedItem & BoundedItem)[] = [];
  for await (const item of itemsOf(trash, signal)) {
    if (isExpired(item.deletedAt, before)) await remove(item);
    else if (bound) {
      const bounded = await boundedItem(trash, item, signal);
      const verdict = bound.verdict(bounded);
      if (verdict === 'remove') await remove(item);
      if (verdict === 'undecided') undecided.push({ ...item, ...bounded });
    }
  }
  for (const item of bound?.choose(undecided) ?? []) await remove(item);
  return progress.done;
}

/** Yields all items, the newest first. */
async function* itemsOf(trash: TrashStore, signal: AbortSignal | undefined): AsyncGenerator<TrashedItem> {
  let cursor: string | undefined;
  do {
    signal?.throwIfAborted();
    const page = await trash.listTrash({ cursor, limit: MAX_PAGE, signal });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

async function boundedItem(
  trash: TrashStore,
  item: TrashedItem,
  signal: AbortSignal | undefined,
): Promise<BoundedItem> {
  const { path, user, deletedAt } = item;
  return { owner: ownerOf(path, user), time: deletedAt, size: await sizeOf(trash, item, signal) };
}

/** Returns the size of an item; 0 if it has left the trash. */
async function sizeOf(trash: TrashStore, { id, size }: TrashedItem, signal: AbortSignal | undefined): Promise<number> {
  return size ?? (await undefinedIfNotFound(trash.measureTrashed(id, { signal }))) ?? 0;
}
