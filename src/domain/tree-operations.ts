import { concurrently, lookAhead } from './concurrently.ts';
import { isThere } from './error.ts';
import { joinPairs, type Pair } from './pairs.ts';
import type { FolderPath } from './path.ts';
import { existsAlready } from './problems.ts';
import { countProgress } from './progress.ts';
import type { Cancellable, Replacing, Reporting } from './store.ts';

export type FolderOptions = Replacing & Reporting & Cancellable;

/**
 * What lies in folders, as items that are copied and removed one by one: what a transfer needs of a backend that
 * can't copy or move a folder in one step. An item is a file, or a folder that has to be named to be there.
 */
export interface ItemTree<Item extends { readonly size: number }> {
  /** How many items are copied, or looked at, at once. */
  readonly concurrency: number;
  /** Whether a folder has to be made before what is in it, where something else may have its name. */
  readonly foldersFirst: boolean;
  /** Throws `not-found` where the folder is not there. */
  requireFolder(folder: FolderPath, options: Cancellable): Promise<void>;
  /** The folder itself and everything in it, in the order of `comparePaths`; nothing for a missing one. */
  walk(folder: FolderPath, options: Cancellable): AsyncIterable<Item>;
  /** What the item is called below the folder; empty for the folder itself. */
  below(item: Item, folder: FolderPath): string;
  isFile(item: Item): boolean;
  /** Whether two files hold the same bytes. When in doubt, they do not. */
  isSame(source: Item, copy: Item, options: Cancellable): Promise<boolean>;
  /** Gives an item of `from` its place in `to`; what is there already, if anything, is `present`. */
  copy(
    source: Item,
    places: { from: FolderPath; to: FolderPath; present: Item | undefined },
    options: Replacing & Cancellable,
  ): Promise<void>;
  /** Removes the items; those that are gone count as removed, and a folder stays while something else is in it. */
  remove(items: AsyncIterable<Item>, options: Removal<Item>): Promise<void>;
}

export interface Removal<Item> extends Cancellable {
  /** Whether an item that has changed since it was seen stays. */
  readonly asSeen: boolean;
  readonly onRemoved?: (item: Item) => void;
}

/** The operations on whole folders, item by item, as the members of `Store` with these names promise them. */
export interface TreeOperations {
  removeTree(folder: FolderPath, options?: Reporting & Cancellable): Promise<void>;
  /**
   * With `replace`, the destination becomes what the source is: what it held else is gone. A copy that fails or
   * is cancelled is undone where the destination was not there before.
   */
  copyFolder(from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void>;
  /**
   * As `copyFolder`, and then removes from the source exactly what is found at the destination: what arrived or
   * changed there meanwhile stays. Interrupted and called again, it completes. Once it removes, it can't be cancelled.
   */
  moveFolder(from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void>;
}

export function createTreeOperations<Item extends { readonly size: number }>(tree: ItemTree<Item>): TreeOperations {
  const { concurrency } = tree;
  const pairsOf = (from: FolderPath, to: FolderPath, options: Cancellable): AsyncGenerator<Pair<Item>> =>
    joinPairs(
      { items: tree.walk(from, options), below: (item) => tree.below(item, from) },
      { items: tree.walk(to, options), below: (item) => tree.below(item, to) },
    );

  const isFile = (item: Item | undefined): item is Item => item !== undefined && tree.isFile(item);

  const areSame = async ({ source, copy }: Pair<Item>, options: Cancellable): Promise<boolean> =>
    isFile(source) && isFile(copy) && (await tree.isSame(source, copy, options));

  /** Whether an item is at its place: a file with the same bytes, a folder as a folder. */
  const isDone = async (pair: Pair<Item>, options: Cancellable): Promise<boolean> => {
    if (pair.source === undefined || pair.copy === undefined) return false;
    return tree.isFile(pair.source) ? areSame(pair, options) : !tree.isFile(pair.copy);
  };

  /**
   * Whether `to` looks as an interrupted operation leaves it: it holds copies from `from` and nothing else; or,
   * when a move was already removing, all that `from` still has. A copy that is complete is no left-over.
   */
  const isLeftOver = async (
    operation: 'copy' | 'move',
    from: FolderPath,
    to: FolderPath,
    options: Cancellable,
  ): Promise<boolean> => {
    let copies = 0;
    let onlyCopies = true;
    let allCopied = true;
    const pairs = pairsOf(from, to, options);
    for await (const { item: pair, found: same } of lookAhead(pairs, concurrency, (each) => areSame(each, options))) {
      if (same) copies++;
      else if (isFile(pair.copy)) onlyCopies = false;
      if (pair.source && (tree.isFile(pair.source) ? !same : !pair.copy)) allCopied = false;
      if (!onlyCopies && !allCopied) return false;
    }
    return copies > 0 && (operation === 'move' || !allCopied);
  };

  /** Settles the conflict rule for folders, and says whether the destination is new. */
  const begin = async (
    operation: 'copy' | 'move',
    from: FolderPath,
    to: FolderPath,
    { replace, signal }: FolderOptions,
  ): Promise<{ isNew: boolean }> => {
    await tree.requireFolder(from, { signal });
    if (!(await isThere(tree.requireFolder(to, { signal })))) return { isNew: true };
    if (!replace && !(await isLeftOver(operation, from, to, { signal }))) throw existsAlready(to);
    return { isNew: false };
  };

  /** Makes `to` what `from` is, skipping what is there already. */
  const copyAll = async (
    from: FolderPath,
    to: FolderPath,
    { isNew, ...options }: FolderOptions & { isNew: boolean },
  ): Promise<void> => {
    const { replace, signal } = options;
    const report = countProgress(options);
    const isCounted = ({ source }: Pair<Item>) => isFile(source);
    const firstFile = Promise.withResolvers<void>();

    const copyOne = async (pair: Pair<Item>): Promise<void> => {
      const { source, copy: present } = pair;
      if (source === undefined) return;
      try {
        if (!(await isDone(pair, { signal }))) await tree.copy(source, { from, to, present }, { replace, signal });
      } finally {
        if (tree.isFile(source)) firstFile.resolve();
      }
      if (tree.isFile(source)) report.add(source.size);
    };

    // A new destination that held folders alone could not be told from one that somebody made: so files come first.
    const inOrder = async function* () {
      const waiting: Pair<Item>[] = [];
      let hasFiles = false;
      for await (const pair of report.counted(pairsOf(from, to, { signal }), isCounted)) {
        if (pair.source === undefined) continue;
        if (tree.isFile(pair.source)) {
          hasFiles = true;
          yield pair;
        } else if (isNew) waiting.push(pair);
        else if (tree.foldersFirst) await copyOne(pair);
        else yield pair;
      }
      if (hasFiles) await firstFile.promise;
      yield* waiting;
    };

    await concurrently(inOrder(), concurrency, copyOne, signal);
  };

  /** What is at both places, as the side that is asked for has it. */
  async function* copied(side: 'source' | 'copy', from: FolderPath, to: FolderPath): AsyncGenerator<Item> {
    for await (const { item, found } of lookAhead(pairsOf(from, to, {}), concurrency, (pair) => isDone(pair, {}))) {
      const wanted = item[side];
      if (found && wanted) yield wanted;
    }
  }

  async function* extrasOf(from: FolderPath, to: FolderPath, { signal }: Cancellable): AsyncGenerator<Item> {
    for await (const { source, copy } of pairsOf(from, to, { signal })) if (copy && !source) yield copy;
  }

  /** The copy, undone where it fails and the destination was not there before. */
  const transfer = async (
    operation: 'copy' | 'move',
    from: FolderPath,
    to: FolderPath,
    options: FolderOptions,
  ): Promise<void> => {
    const { isNew } = await begin(operation, from, to, options);
    try {
      await copyAll(from, to, { ...options, isNew });
    } catch (error) {
      if (isNew) await tree.remove(copied('copy', from, to), { asSeen: true });
      throw error;
    }
    if (options.replace) await tree.remove(extrasOf(from, to, options), { asSeen: true });
  };

  return {
    copyFolder: (from, to, options) => transfer('copy', from, to, options),

    async moveFolder(from, to, options) {
      await transfer('move', from, to, options);
      await tree.remove(copied('source', from, to), { asSeen: true });
    },

    async removeTree(folder, options = {}) {
      const { signal } = options;
      await tree.requireFolder(folder, { signal });
      const report = countProgress(options);
      await tree.remove(
        report.counted(tree.walk(folder, { signal }), (item) => tree.isFile(item)),
        {
          asSeen: false,
          signal,
          onRemoved: (item) => tree.isFile(item) && report.add(item.size),
        },
      );
    },
  };
}
