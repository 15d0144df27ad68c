import { createHash, hash } from 'node:crypto';
import { mapAhead } from '../concurrency/concurrently.ts';
import { comparePaths, type FolderPath } from '../model/path.ts';
import type { Cancellable } from '../model/store.ts';
import type { ItemTree } from './item-tree.ts';

/** What two folders were like at one time. */
export interface TreeSurvey<Item> {
  /**
   * What the source held: two surveys with the same one found the same items in the same versions. Undefined where it
   * was not there.
   */
  readonly source: string | undefined;
  /** What only the destination held, by its path below it. Held in memory: it is what is to be replaced. */
  readonly extras: ReadonlyMap<string, Item>;
  /** Whether the source held files, and all that it held was at the destination. */
  readonly isAllCopied: boolean;
  /** The path below the source of an item that is not at the destination. */
  readonly missing: string | undefined;
  /** The path below the source of an item that was expected at the destination, and is not there. */
  readonly notCopied: string | undefined;
}

/** Two folders held side by side, item by item. */
export interface TreeComparison<Item> {
  /** Every item of `from`, and what is at its place in `to`. */
  pairs(from: FolderPath, to: FolderPath, options: Cancellable): AsyncIterable<Pair<Item>>;
  /** Whether an item is at its place: a file with the same bytes, a folder as a folder. */
  isDone(pair: Pair<Item>, options: Cancellable): Promise<boolean>;
  /** The pairs whose item is at both places. */
  done(from: FolderPath, to: FolderPath): AsyncIterable<Required<Pair<Item>>>;
  /** Compares the folders. Items of the source are `expected` at the destination in the versions that are listed there. */
  survey(from: FolderPath, to: FolderPath, options: Cancellable & { expected?: SeenItems }): Promise<TreeSurvey<Item>>;
  /**
   * Whether `to` looks as an interrupted operation leaves it: it holds copies from `from` and nothing else; or,
   * when a move was already removing, all that `from` still has. A copy that is complete is no left-over.
   */
  isResumable(operation: 'copy' | 'move', from: FolderPath, to: FolderPath, options: Cancellable): Promise<boolean>;
}

export function compareTrees<Item extends { readonly size: number }>(tree: ItemTree<Item>): TreeComparison<Item> {
  const join = (walk: Walk<Item>, from: FolderPath, to: FolderPath, options: Cancellable & { extras: boolean }) =>
    mergeSorted(
      { items: walk(from, options), below: (item) => tree.below(item, from) },
      { items: walk(to, options), below: (item) => tree.below(item, to) },
      options,
    );

  const pairs = (from: FolderPath, to: FolderPath, options: Cancellable) =>
    join(tree.walk, from, to, { ...options, extras: false });

  const isDone = async ({ source, copy }: Pair<Item>, options: Cancellable): Promise<boolean> => {
    if (source === undefined || copy === undefined) return false;
    if (!tree.isFile(source)) return !tree.isFile(copy);
    return tree.isFile(copy) && tree.isSame(source, copy, options);
  };

  /** Pairs with whether their item is at both places. */
  const look = (found: AsyncIterable<Pair<Item>>, options: Cancellable) =>
    mapAhead(found, tree.concurrency, (pair) => isDone(pair, options));

  /** All of both folders, which nothing is done on yet. */
  const lookAtAll = (from: FolderPath, to: FolderPath, options: Cancellable) =>
    look(join(tree.walkAhead ?? tree.walk, from, to, { ...options, extras: true }), options);

  return {
    pairs,
    isDone,

    async *done(from, to) {
      for await (const { item, found } of look(pairs(from, to, {}), {})) {
        if (found && item.source && item.copy) yield { source: item.source, copy: item.copy };
      }
    },

    async survey(from, to, { expected, ...options }) {
      const digest = createHash('sha256');
      const extras = new Map<string, Item>();
      let [isThere, hasFiles] = [false, false];
      let [missing, notCopied]: (string | undefined)[] = [];
      for await (const { item, found } of lookAtAll(from, to, options)) {
        const { source, copy } = item;
        if (source) digest.update(`${tree.below(source, from)}\0${tree.versionOf(source)}\0`);
        else if (copy) extras.set(tree.below(copy, to), copy);
        if (source) isThere = true;
        if (source && tree.isFile(source)) hasFiles = true;
        if (source && !found) {
          missing ??= tree.below(source, from);
          if (expected?.has(tree.below(source, from), tree.versionOf(source))) notCopied ??= tree.below(source, from);
        }
      }
      return {
        source: isThere ? digest.digest('hex') : undefined,
        extras,
        isAllCopied: hasFiles && missing === undefined,
        missing,
        notCopied,
      };
    },

    async isResumable(operation, from, to, options) {
      let copies = 0;
      let onlyCopies = true;
      let allCopied = true;
      for await (const { item, found } of lookAtAll(from, to, options)) {
        const isFile = item.copy !== undefined && tree.isFile(item.copy);
        if (isFile && found) copies++;
        if (isFile && !found) onlyCopies = false;
        if (item.source && !found) allCopied = false;
        if (!onlyCopies && !allCopied) return false;
      }
      return copies > 0 && (operation === 'move' || !allCopied);
    },
  };
}

type Walk<Item extends { readonly size: number }> = ItemTree<Item>['walk'];

/** What two folders hold at one place below them: in either or in both. */
export interface Pair<Item> {
  readonly source?: Item;
  readonly copy?: Item;
}

/** One of two folders that are held side by side: what it holds, and what each item is called below it. */
export interface Side<Item> {
  readonly items: AsyncIterable<Item>;
  below(item: Item): string;
}

/**
 * The contents of two folders side by side, joined on the path below each. Both come in the order of
 * `comparePaths`, so that neither is held in memory. Without `extras`, what only `copy` holds is left out, and nothing is
 * read behind the last item of `source`.
 */
export async function* mergeSorted<Item>(
  source: Side<Item>,
  copy: Side<Item>,
  { extras }: { extras: boolean },
): AsyncGenerator<Pair<Item>> {
  const sources = source.items[Symbol.asyncIterator]();
  const copies = copy.items[Symbol.asyncIterator]();
  try {
    // Both sides are asked at once: each may be waiting for its next page.
    let [left, right] = await Promise.all([take(sources), take(copies)]);
    while (left !== undefined || (extras && right !== undefined)) {
      const order =
        left === undefined ? 1 : right === undefined ? -1 : comparePaths(source.below(left), copy.below(right));
      if (order <= 0 || extras) {
        yield {
          ...(order <= 0 && left !== undefined && { source: left }),
          ...(order >= 0 && right !== undefined && { copy: right }),
        };
      }
      if (order === 0) [left, right] = await Promise.all([take(sources), take(copies)]);
      else if (order < 0) left = await take(sources);
      else right = await take(copies);
    }
  } finally {
    await Promise.all([sources.return?.(), copies.return?.()]);
  }
}

async function take<Item>(items: AsyncIterator<Item>): Promise<Item | undefined> {
  const next = await items.next();
  return next.done ? undefined : next.value;
}

/**
 * The items of one listing, each as a hash of its path and version: 8 bytes for each, however many there are. Two items
 * share a hash once in 2^48, and then one that was not listed counts as listed.
 */
export class SeenItems {
  #hashes = new Float64Array(64);
  #size = 0;
  #isSorted = true;

  get size(): number {
    return this.#size;
  }

  add(path: string, version: string): void {
    if (this.#size === this.#hashes.length) {
      const larger = new Float64Array(2 * this.#size);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    this.#hashes[this.#size++] = hashOf(path, version);
    this.#isSorted = false;
  }

  has(path: string, version: string): boolean {
    const hashes = this.#hashes.subarray(0, this.#size);
    if (!this.#isSorted) hashes.sort();
    this.#isSorted = true;
    const wanted = hashOf(path, version);
    let [from, to] = [0, hashes.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((hashes[middle] ?? 0) < wanted) from = middle + 1;
      else to = middle;
    }
    return hashes[from] === wanted;
  }
}

const hashOf = (path: string, version: string): number =>
  hash('sha256', `${path}\0${version}`, 'buffer').readUIntBE(0, 6);
