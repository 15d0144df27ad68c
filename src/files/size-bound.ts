import { type FilePath, type FolderPath, isFolder } from '../model/path.ts';

const MS_PER_MINUTE = 60_000;

/** Owners that each have a share of their own. All others have one together, which bounds the memory. */
const MAX_OWNERS = 1000;

/** What happens to an item: its minute decides, or `choose` does because the bound lies within its minute. */
export type Verdict = 'keep' | 'remove' | 'undecided';

export interface BoundedItem {
  /** See `ownerOf`. */
  readonly owner: string;
  /** The time at which it was deleted or replaced. */
  readonly time: Date;
  /** Size in bytes. */
  readonly size: number;
}

/** Returns the owner of what a user deleted or replaced: the user, or the top-level folder if the user is unknown. */
export function ownerOf(path: FilePath | FolderPath, user: string | undefined): string {
  if (user !== undefined) return `user ${user}`;
  const end = path.indexOf('/');
  return end === -1 || (isFolder(path) && end === path.length - 1) ? 'folder ' : `folder ${path.slice(0, end)}`;
}

/**
 * Finds the items to remove, so that the others fit into a number of bytes, in passes through any number of items. It
 * remembers one number for each owner and minute, and not each item.
 *
 * An owner with less than an equal share loses nothing. The others share the rest equally, and each loses their oldest items. An item that can't fit, into
 * the bound or into the share of its owner, is removed itself, and no other item because of it.
 */
export class SizeBound {
  readonly #maxBytes: number;
  readonly #owners = new Map<string, Owner>();
  #isLastPass = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** First passes: notes an item. */
  note(item: BoundedItem): void {
    const owner = this.#owner(item);
    if (item.size > owner.maxItemBytes) return;
    const minute = minuteOf(item.time);
    owner.bytesByMinute.set(minute, (owner.bytesByMinute.get(minute) ?? 0) + item.size);
    owner.bytes += item.size;
    owner.largest = Math.max(owner.largest, item.size);
  }

  /** Ends a pass. Returns whether the caller must note all items again. */
  decide(): boolean {
    const share = this.#equalShare();
    const owners = [...this.#owners.values()];
    const unfit = owners.filter(({ bytes, largest }) => bytes > share && largest > share);
    if (!this.#isLastPass && unfit.length > 0) {
      this.#isLastPass = true;
      for (const owner of unfit) owner.maxItemBytes = share;
      for (const owner of owners) {
        owner.bytesByMinute.clear();
        owner.bytes = 0;
        owner.largest = 0;
      }
      return true;
    }
    for (const owner of owners) if (owner.bytes > share) owner.cut = cutOf(owner, share);
    return false;
  }

  /** Last pass: returns what happens to an item. The caller collects the undecided ones for `choose`. */
  verdict(item: BoundedItem): Verdict {
    const { cut, maxItemBytes } = this.#owner(item);
    if (item.size > maxItemBytes) return 'remove';
    const minute = minuteOf(item.time);
    if (!cut || minute > cut.minute) return 'keep';
    return minute < cut.minute ? 'remove' : 'undecided';
  }

  /** Returns which of the undecided items to remove. They must be sorted the newest first. */
  choose<Item extends BoundedItem>(newestFirst: readonly Item[]): readonly Item[] {
    const full = new Set<Owner>();
    return newestFirst.filter((item) => {
      const owner = this.#owner(item);
      if (owner.cut) {
        owner.cut.remaining -= item.size;
        if (owner.cut.remaining < 0) full.add(owner);
      }
      return full.has(owner);
    });
  }

  #owner({ owner }: BoundedItem): Owner {
    const name = this.#owners.has(owner) || this.#owners.size < MAX_OWNERS ? owner : '';
    const found = this.#owners.get(name) ?? {
      maxItemBytes: this.#maxBytes,
      bytesByMinute: new Map<number, number>(),
      bytes: 0,
      largest: 0,
      cut: undefined,
    };
    this.#owners.set(name, found);
    return found;
  }

  /** Returns the bytes that each owner can have at most, so that all fit. */
  #equalShare(): number {
    let remaining = this.#maxBytes;
    const totals = Array.from(this.#owners.values(), ({ bytes }) => bytes).toSorted((left, right) => left - right);
    for (const [index, bytes] of totals.entries()) {
      const share = remaining / (totals.length - index);
      if (bytes > share) return share;
      remaining -= bytes;
    }
    return Number.POSITIVE_INFINITY;
  }
}

interface Owner {
  /** Larger items are not noted, and are removed. */
  maxItemBytes: number;
  readonly bytesByMinute: Map<number, number>;
  bytes: number;
  largest: number;
  /** The minute in which the share ends, and the bytes of the share that are left for it. */
  cut: { readonly minute: number; remaining: number } | undefined;
}

function cutOf({ bytesByMinute }: Owner, share: number): Owner['cut'] {
  let remaining = share;
  for (const [minute, bytes] of [...bytesByMinute].toSorted(([left], [right]) => right - left)) {
    if (bytes > remaining) return { minute, remaining };
    remaining -= bytes;
  }
  return undefined;
}

const minuteOf = (time: Date) => Math.floor(time.getTime() / MS_PER_MINUTE);
