import { concurrently, mapAhead } from '../concurrency/concurrently.ts';
import { exists, isStoreError } from '../model/error.ts';
import { type FolderPath, rebase } from '../model/path.ts';
import type { Cancellable, Progress, Replacing, Reporting } from '../model/store.ts';
import { alreadyExists, copyNotFound, inconsistentStore, listingIncomplete, notFound } from '../model/store-errors.ts';
import type { ItemTree } from './item-tree.ts';
import { compareTrees, type Pair, SeenItems, type TreeSurvey } from './tree-comparison.ts';

export type FolderOptions = Replacing & Reporting & Cancellable;

/**
 * The operations on whole folders, item by item. They fulfil the contracts of the members of `Store` with the same
 * names.
 */
export interface TreeOperations {
  removeTree(folder: FolderPath, options?: Reporting & Cancellable): Promise<void>;
  /**
   * Copies a folder. With `replace`, the destination becomes identical to the source, and all other items in it are
   * removed. A copy to a new destination is undone if it fails or is cancelled.
   *
   * An item that another client deletes before it is copied is skipped. A `not-found` from the copy counts only if
   * `isPresent` does not find the item either and the next listing lacks it. A single listing is never reason enough
   * to remove an item. Before the first removal, the destination must list every item of the first listing that the
   * source still has in the same version. Otherwise, the operation throws `unavailable`.
   */
  copyFolder(from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void>;
  /**
   * Copies a folder as `copyFolder` does, then removes from the source exactly the items that are listed at the
   * destination. Items that arrived or changed in the source meanwhile remain. If an item of the first listing was
   * not copied, nothing is removed from the source. An interrupted move completes when it is called again. A move
   * can't be cancelled after the first removal.
   *
   * A failed move is never undone, because repeating the call continues from its copies. If an undo removed the
   * copies while the repeated call removes the sources, both would be lost.
   */
  moveFolder(from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void>;
}

export function createTreeOperations<Item extends { readonly size: number }>(tree: ItemTree<Item>): TreeOperations {
  const comparison = compareTrees(tree);

  /** Throws `invalid-path` if a path would be too long at the destination. */
  const requireRoom = async (from: FolderPath, to: FolderPath, { signal }: Cancellable): Promise<void> => {
    if (Buffer.byteLength(to) <= Buffer.byteLength(from)) return;
    for await (const item of tree.walk(from, { signal }))
      rebase(`${from}${tree.below(item, from)}` as FolderPath, from, to);
  };

  /**
   * Checks the conflict rules for folders. Returns whether the destination is new and, if it is to be replaced, its
   * survey.
   */
  const begin = async (operation: 'copy' | 'move', from: FolderPath, to: FolderPath, options: FolderOptions) => {
    const { replace, signal } = options;
    await tree.requireFolder(from, { signal });
    if (!(await exists(tree.requireFolder(to, { signal })))) return { isNew: true };
    if (replace) {
      const before = await comparison.survey(from, to, { signal });
      // The source was deleted after the check above. An empty listing must not replace the destination.
      if (before.source === undefined) throw notFound(from);
      return { isNew: false, before };
    }
    if (!(await comparison.isResumable(operation, from, to, { signal }))) throw alreadyExists(to);
    return { isNew: false };
  };

  /** Throws `unavailable` if a folder exists although its listing is empty, even without its marker. */
  const requireGone = async (folder: FolderPath, { signal }: Cancellable): Promise<void> => {
    if (await exists(tree.requireFolder(folder, { signal }))) throw listingIncomplete(folder);
  };

  /** Copies one item. Returns false if it no longer exists. */
  const copyItem = async (
    source: Item,
    places: { from: FolderPath; to: FolderPath; present: Item | undefined },
    options: Replacing & Cancellable,
  ): Promise<boolean> => {
    const { from } = places;
    for (let attempt = 1; ; attempt++) {
      try {
        await tree.copy(source, places, options);
        return true;
      } catch (error) {
        if (!isStoreError(error, 'not-found')) throw error;
        // Some stores return 404 for a copy source that exists, because of the characters in its name.
        if (!(await tree.isPresent(tree.below(source, from), from, options))) return false;
        if (attempt === COPY_ATTEMPTS) throw inconsistentStore(from + tree.below(source, from), error);
      }
    }
  };

  /**
   * Makes `to` identical to `from`. Skips items that are already there, and adds their relative paths to `skipped`.
   * Returns the items of the source, and whether one was missing.
   */
  const copyAll = async (
    from: FolderPath,
    to: FolderPath,
    { isNew, skipped, ...options }: FolderOptions & { isNew: boolean; skipped?: Set<string> },
  ): Promise<Copied> => {
    const { replace, signal } = options;
    const found = { items: new SeenItems(), isAnyGone: false };
    const report = countProgress(options);
    const isCounted = ({ source }: Pair<Item>) => source !== undefined && tree.isFile(source);
    const firstFile = Promise.withResolvers<void>();

    const copyOne = async (pair: Pair<Item>): Promise<void> => {
      const { source, copy: present } = pair;
      if (source === undefined) return;
      try {
        if (await comparison.isDone(pair, { signal })) skipped?.add(tree.below(source, from));
        else if (!(await copyItem(source, { from, to, present }, { replace, signal }))) found.isAnyGone = true;
      } finally {
        if (tree.isFile(source)) firstFile.resolve();
      }
      if (tree.isFile(source)) report.add(source.size);
    };

    // Copies files before folders to a new destination. A destination that contains only folders could not be
    // recognized as that of an interrupted operation.
    const inOrder = async function* () {
      const waiting: Pair<Item>[] = [];
      let hasFiles = false;
      for await (const pair of report.counted(comparison.pairs(from, to, { signal }), isCounted)) {
        if (pair.source === undefined) continue;
        found.items.add(tree.below(pair.source, from), tree.versionOf(pair.source));
        if (tree.isFile(pair.source)) {
          hasFiles = true;
          yield pair;
        } else if (isNew) waiting.push(pair);
        else if (tree.isNested) await copyOne(pair);
        else yield pair;
      }
      if (hasFiles) await firstFile.promise;
      yield* waiting;
    };

    await concurrently(inOrder(), tree.concurrency, copyOne, signal);
    return found;
  };

  /** Throws unless every copied item that the source still has in the same version is listed at the destination. */
  const requireCopied = async (from: FolderPath, to: FolderPath, { items }: Copied, { signal }: Cancellable) => {
    const survey = await comparison.survey(from, to, { expected: items, signal });
    if (survey.notCopied !== undefined) throw copyNotFound(from + survey.notCopied);
    return survey;
  };

  /** Removes an incomplete copy. Items that existed before it remain. */
  const undoCopy = async (from: FolderPath, to: FolderPath, skipped: ReadonlySet<string>): Promise<void> => {
    const ours = async function* () {
      for await (const { copy } of comparison.done(from, to)) if (!skipped.has(tree.below(copy, to))) yield copy;
    };
    await tree.remove(ours(), { asSeen: true });
  };

  /**
   * Removes items that only the destination had before, if they are unchanged. If the source has changed meanwhile,
   * another client is working on it, perhaps with the same move. An item that is missing there may then have been
   * moved here, so nothing is removed. Throws before the first removal if the source has one of these items although
   * no listing contains it, because then listings are incomplete. Also throws if the destination lacks an item that
   * the source had all the time.
   */
  const removeExtras = async (
    from: FolderPath,
    { before, now }: { before: TreeSurvey<Item>; now: TreeSurvey<Item> },
  ): Promise<void> => {
    if (now.source !== before.source) return;
    if (now.missing !== undefined) throw copyNotFound(from + now.missing);
    const extras = [...now.extras].filter(([below, item]) => {
      const known = before.extras.get(below);
      return known && tree.versionOf(known) === tree.versionOf(item);
    });
    const look = ([below]: [string, Item]) => tree.isPresent(below, from, {});
    for await (const { item, found } of mapAhead(each(extras), tree.concurrency, look)) {
      if (found) throw listingIncomplete(from + item[0]);
    }
    await tree.remove(each(extras.map(([, item]) => item)), { asSeen: true });
  };

  /**
   * Removes from the source the items that are at the destination. If folders are items like files, the first file is
   * removed last. A source that contains only folders could not be recognized as that of an interrupted move.
   */
  const removeCopied = async (from: FolderPath, to: FolderPath): Promise<void> => {
    if (!tree.isNested) await tree.remove(copied(from, to, { withFirstFile: false }), { asSeen: true });
    // This lists the rest again, because the first file can have changed since.
    await tree.remove(copied(from, to, { withFirstFile: true }), { asSeen: true });
  };

  const copied = async function* (from: FolderPath, to: FolderPath, { withFirstFile }: { withFirstFile: boolean }) {
    let isKeeping = !withFirstFile;
    for await (const { source } of comparison.done(from, to)) {
      if (isKeeping && tree.isFile(source)) isKeeping = false;
      else yield source;
    }
  };

  return {
    async copyFolder(from, to, options) {
      const { isNew, before } = await begin('copy', from, to, options);
      // In a new destination, only items that other clients created a moment ago are skipped: nearly always none.
      const skipped = new Set<string>();
      const hasExtras = before !== undefined && before.extras.size > 0;
      let now: TreeSurvey<Item> | undefined;
      try {
        const done = await copyAll(from, to, { ...options, isNew, ...(isNew && { skipped }) });
        if (done.items.size === 0) {
          await requireGone(from, options);
          throw notFound(from);
        }
        if (hasExtras || done.isAnyGone) now = await requireCopied(from, to, done, options);
      } catch (error) {
        if (isNew) await undoCopy(from, to, skipped);
        throw error;
      }
      if (before && now) await removeExtras(from, { before, now });
    },

    async moveFolder(from, to, options) {
      const { isNew, before } = await begin('move', from, to, options);
      await requireRoom(from, to, options);
      const done = await copyAll(from, to, { ...options, isNew });
      // A second, identical move may have moved everything meanwhile.
      if (done.items.size === 0) await requireGone(from, options);
      const now = await requireCopied(from, to, done, options);
      // If the destination had everything that the source has, it can be the result of this move, interrupted while
      // removing.
      if (before && !before.isAllCopied) await removeExtras(from, { before, now });
      await removeCopied(from, to);
    },

    async removeTree(folder, options = {}) {
      const { signal } = options;
      await tree.requireFolder(folder, { signal });
      const report = countProgress(options);
      let isAnyRemoved = false;
      const onRemoved = (item: Item) => {
        isAnyRemoved = true;
        if (tree.isFile(item)) report.add(item.size);
      };
      await tree.remove(
        report.counted((tree.walkInAnyOrder ?? tree.walk)(folder, { signal }), (item) => tree.isFile(item)),
        { asSeen: false, signal, onRemoved },
      );
      if (!isAnyRemoved) await requireGone(folder, { signal });
    },
  };
}

/** Maximum attempts to copy an item whose source exists although the store returns 404 for it. */
const COPY_ATTEMPTS = 3;

/** The result of copying: the items of the first listing, and whether one of them no longer existed. */
interface Copied {
  readonly items: SeenItems;
  readonly isAnyGone: boolean;
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

/** Counts finished files and bytes, and reports them. */
export interface ProgressCount {
  /** Passes `items` through, and counts the items for which `isCounted` returns true. The total is known at the end. */
  counted<Item>(items: AsyncIterable<Item>, isCounted: (item: Item) => boolean): AsyncGenerator<Item>;
  /** Adds one finished file of this many bytes. */
  add(bytes: number): void;
}

export function countProgress({ onProgress }: Reporting): ProgressCount {
  let [seen, done, bytes] = [0, 0, 0];
  let total: number | null = null;
  const progress = (): Progress => ({ done, total, bytes });
  return {
    async *counted(items, isCounted) {
      for await (const item of items) {
        if (isCounted(item)) seen++;
        yield item;
      }
      total = seen;
      onProgress?.(progress());
    },
    add(size) {
      done++;
      bytes += size;
      onProgress?.(progress());
    },
  };
}
