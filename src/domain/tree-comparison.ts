import { createHash } from 'node:crypto';
import { lookAhead } from './concurrently.ts';
import type { ItemTree } from './item-tree.ts';
import { joinPairs, type Pair } from './pairs.ts';
import type { FolderPath } from './path.ts';
import type { SeenItems } from './seen-items.ts';
import type { Cancellable } from './store.ts';

/** What two folders were like at one time. */
export interface Survey<Item> {
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
  survey(from: FolderPath, to: FolderPath, options: Cancellable & { expected?: SeenItems }): Promise<Survey<Item>>;
  /**
   * Whether `to` looks as an interrupted operation leaves it: it holds copies from `from` and nothing else; or,
   * when a move was already removing, all that `from` still has. A copy that is complete is no left-over.
   */
  isLeftOver(operation: 'copy' | 'move', from: FolderPath, to: FolderPath, options: Cancellable): Promise<boolean>;
}

export function compareTrees<Item extends { readonly size: number }>(tree: ItemTree<Item>): TreeComparison<Item> {
  const join = (walk: Walk<Item>, from: FolderPath, to: FolderPath, options: Cancellable & { extras: boolean }) =>
    joinPairs(
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
    lookAhead(found, tree.concurrency, (pair) => isDone(pair, options));

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

    async isLeftOver(operation, from, to, options) {
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
