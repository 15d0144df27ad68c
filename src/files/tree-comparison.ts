import { createHash, hash } from 'node:crypto';
import { mapAhead } from '../concurrency/concurrently.ts';
import { partitionPoint } from '../model/binary-search.ts';
import { comparePaths, type FolderPath } from '../model/path.ts';
import type { Cancellable } from '../model/store.ts';
import type { ItemTree } from './item-tree.ts';

/** The result of a comparison of two folders. */
export interface TreeSurvey<Item> {
  /**
   * A digest of the source's items and versions: equal for two surveys that found the same. Undefined if the source
   * does not exist.
   */
  readonly source: string | undefined;
  /**
   * Items that exist only at the destination, by their relative path. They are held in memory until the operation
   * replaces them.
   */
  readonly extras: ReadonlyMap<string, Item>;
  /** Whether the source has files, and all its items are at the destination. */
  readonly isAllCopied: boolean;
  /** The relative path of an item of the source that is missing at the destination. */
  readonly missing: string | undefined;
  /** The relative path of an item that was expected at the destination and is missing there. */
  readonly notCopied: string | undefined;
}

/** A comparison of two folders, item by item. */
export interface TreeComparison<Item> {
  /** Yields every item of `from` with the item at the same relative path in `to`. */
  pairs(from: FolderPath, to: FolderPath, options: Cancellable): AsyncIterable<Pair<Item>>;
  /** Returns whether the destination has the item: a file with the same content, or a folder for a folder. */
  isDone(pair: Pair<Item>, options: Cancellable): Promise<boolean>;
  /** Yields the pairs whose item is in both folders. */
  done(from: FolderPath, to: FolderPath): AsyncIterable<Required<Pair<Item>>>;
  /**
   * Compares the folders. `expected` lists items of the source, with their versions, that must be at the destination.
   */
  survey(from: FolderPath, to: FolderPath, options: Cancellable & { expected?: SeenItems }): Promise<TreeSurvey<Item>>;
  /**
   * Returns whether `to` can be the result of an interrupted operation. It then contains only copies of files from
   * `from`; or, for a move that already removed sources, everything that `from` still has. A complete copy is not an
   * interrupted one.
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

  /** Yields pairs with whether their item is in both folders. */
  const look = (found: AsyncIterable<Pair<Item>>, options: Cancellable) =>
    mapAhead(found, tree.concurrency, (pair) => isDone(pair, options));

  /** Yields the pairs of both folders before any change, for which `walkAhead` is sufficient. */
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

/** The items of two folders at the same relative path. One can be missing. */
export interface Pair<Item> {
  readonly source?: Item;
  readonly copy?: Item;
}

/** One of two compared folders: its items, and their relative paths. */
export interface Side<Item> {
  readonly items: AsyncIterable<Item>;
  below(item: Item): string;
}

/**
 * Merges two sorted folders on the relative path of their items. Both are in the order of `comparePaths`, so neither
 * is held in memory. Without `extras`, omits items that only `copy` has, and reads nothing after the last item of
 * `source`.
 */
export async function* mergeSorted<Item>(
  source: Side<Item>,
  copy: Side<Item>,
  { extras }: { extras: boolean },
): AsyncGenerator<Pair<Item>> {
  const sources = source.items[Symbol.asyncIterator]();
  const copies = copy.items[Symbol.asyncIterator]();
  try {
    // Both sides advance in parallel, because each can be waiting for its next page.
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
 * The items of a listing, each as a hash of its path and version, in 8 bytes per item. Two items have the same hash
 * with a probability of 1 in 2^48. In that case, an unlisted item counts as listed.
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
    return hashes[partitionPoint(hashes.length, (index) => (hashes[index] ?? 0) < wanted)] === wanted;
  }
}

const hashOf = (path: string, version: string): number =>
  hash('sha256', `${path}\0${version}`, 'buffer').readUIntBE(0, 6);
