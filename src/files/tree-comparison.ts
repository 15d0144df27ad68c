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

/** Compares two folders, item by item. */
export class TreeComparison<Item extends { readonly size: number }> {
  readonly #tree: ItemTree<Item>;
  readonly #from: FolderPath;
  readonly #to: FolderPath;

  constructor(tree: ItemTree<Item>, from: FolderPath, to: FolderPath) {
    this.#tree = tree;
    this.#from = from;
    this.#to = to;
  }

  /** Yields every item of the source with the item at the same relative path of the destination. */
  pairs(options: Cancellable): AsyncGenerator<Pair<Item>> {
    const tree = this.#tree;
    return this.#merge((folder) => tree.walk(folder, options), { extras: false });
  }

  /** Yields all pairs before any change, for which `walkForComparison` is sufficient. */
  #allPairs(options: Cancellable): AsyncGenerator<Pair<Item>> {
    const tree = this.#tree;
    const walk = (folder: FolderPath) => tree.walkForComparison?.(folder, options) ?? tree.walk(folder, options);
    return this.#merge(walk, { extras: true });
  }

  #merge(walk: (folder: FolderPath) => AsyncIterable<Item>, options: { extras: boolean }): AsyncGenerator<Pair<Item>> {
    const side = (folder: FolderPath) => ({
      items: walk(folder),
      relativePath: (item: Item) => this.#tree.relativePath(item, folder),
    });
    return mergeSorted(side(this.#from), side(this.#to), options);
  }

  /** Returns whether the destination has the item: a file with the same content, or a folder for a folder. */
  async isCopied({ source, copy }: Pair<Item>, options: Cancellable): Promise<boolean> {
    if (source === undefined || copy === undefined) return false;
    if (!this.#tree.isFile(source)) return !this.#tree.isFile(copy);
    return this.#tree.isFile(copy) && this.#tree.isSame(source, copy, options);
  }

  /** Yields the pairs whose item is in both folders. */
  async *copiedPairs(): AsyncGenerator<Required<Pair<Item>>> {
    for await (const { item, found: isCopied } of this.#withIsCopied(this.pairs({}), {})) {
      if (isCopied && item.source && item.copy) yield { source: item.source, copy: item.copy };
    }
  }

  #withIsCopied(pairs: AsyncIterable<Pair<Item>>, options: Cancellable) {
    return mapAhead(pairs, this.#tree.concurrency, (pair) => this.isCopied(pair, options));
  }

  /**
   * Compares the folders. `expected` lists items of the source, with their versions, that must be at the destination.
   */
  async survey({ expected, ...options }: Cancellable & { expected?: SeenItems }): Promise<TreeSurvey<Item>> {
    const tree = this.#tree;
    const digest = createHash('sha256');
    const extras = new Map<string, Item>();
    let [hasItems, hasFiles] = [false, false];
    let [missing, notCopied]: (string | undefined)[] = [];
    for await (const { item, found: isCopied } of this.#withIsCopied(this.#allPairs(options), options)) {
      const { source, copy } = item;
      if (copy && !source) extras.set(tree.relativePath(copy, this.#to), copy);
      if (!source) continue;
      const path = tree.relativePath(source, this.#from);
      const version = tree.versionOf(source);
      digest.update(`${path}\0${version}\0`);
      hasItems = true;
      if (tree.isFile(source)) hasFiles = true;
      if (isCopied) continue;
      missing ??= path;
      if (expected?.has(path, version)) notCopied ??= path;
    }
    return {
      source: hasItems ? digest.digest('hex') : undefined,
      extras,
      isAllCopied: hasFiles && missing === undefined,
      missing,
      notCopied,
    };
  }

  /**
   * Returns whether the destination can be the result of an interrupted operation. It then contains only copies of
   * files of the source; or, for a move that already removed sources, everything that the source still has. A complete
   * copy is not an interrupted one.
   */
  async isResumable(operation: 'copy' | 'move', options: Cancellable): Promise<boolean> {
    let copies = 0;
    let hasOnlyCopies = true;
    let isAllCopied = true;
    for await (const { item, found: isCopied } of this.#withIsCopied(this.#allPairs(options), options)) {
      const isFile = item.copy !== undefined && this.#tree.isFile(item.copy);
      if (isFile && isCopied) copies++;
      if (isFile && !isCopied) hasOnlyCopies = false;
      if (item.source && !isCopied) isAllCopied = false;
      if (!hasOnlyCopies && !isAllCopied) return false;
    }
    return copies > 0 && (operation === 'move' || !isAllCopied);
  }
}

/** The items of two folders at the same relative path. One can be missing. */
export interface Pair<Item> {
  readonly source?: Item;
  readonly copy?: Item;
}

/** One of two compared folders: its items, and their relative paths. */
interface Side<Item> {
  readonly items: AsyncIterable<Item>;
  relativePath(item: Item): string;
}

/**
 * Merges two sorted folders on the relative path of their items. Both are in the order of `comparePaths`, so neither
 * is held in memory. Without `extras`, omits items that only `copy` has, and reads nothing after the last item of
 * `source`.
 */
async function* mergeSorted<Item>(
  source: Side<Item>,
  copy: Side<Item>,
  { extras }: { extras: boolean },
): AsyncGenerator<Pair<Item>> {
  const sources = source.items[Symbol.asyncIterator]();
  const copies = copy.items[Symbol.asyncIterator]();
  try {
    // Both sides advance in parallel, because each can be waiting for its next page.
    let [left, right] = await Promise.all([nextOf(sources), nextOf(copies)]);
    while (left !== undefined || (extras && right !== undefined)) {
      const order =
        left === undefined
          ? 1
          : right === undefined
            ? -1
            : comparePaths(source.relativePath(left), copy.relativePath(right));
      if (order <= 0 || extras) {
        yield {
          ...(order <= 0 && left !== undefined && { source: left }),
          ...(order >= 0 && right !== undefined && { copy: right }),
        };
      }
      if (order === 0) [left, right] = await Promise.all([nextOf(sources), nextOf(copies)]);
      else if (order < 0) left = await nextOf(sources);
      else right = await nextOf(copies);
    }
  } finally {
    await Promise.all([sources.return?.(), copies.return?.()]);
  }
}

async function nextOf<Item>(items: AsyncIterator<Item>): Promise<Item | undefined> {
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
    const expected = hashOf(path, version);
    return hashes[partitionPoint(hashes.length, (index) => (hashes[index] ?? 0) < expected)] === expected;
  }
}

const hashOf = (path: string, version: string): number =>
  hash('sha256', `${path}\0${version}`, 'buffer').readUIntBE(0, 6);
