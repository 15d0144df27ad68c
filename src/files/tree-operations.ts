import { concurrently, mapAhead } from '../concurrency/concurrently.ts';
import { exists, isStoreError } from '../model/error.ts';
import { type FolderPath, rebase } from '../model/path.ts';
import type { Cancellable, Progress, Replacing, Reporting } from '../model/store.ts';
import { alreadyExists, copyNotFound, inconsistentStore, listingIncomplete, notFound } from '../model/store-errors.ts';
import type { ItemTree } from './item-tree.ts';
import { compareTrees, type Pair, SeenItems, type TreeSurvey } from './tree-comparison.ts';

export type FolderOptions = Replacing & Reporting & Cancellable;

/** The operations on whole folders, item by item, as the members of `Store` with these names promise them. */
export interface TreeOperations {
  removeTree(folder: FolderPath, options?: Reporting & Cancellable): Promise<void>;
  /**
   * Copies a folder. With `replace`, the destination becomes what the source is, and everything else in it is removed.
   * A copy that fails or is cancelled is undone if the destination is new.
   *
   * An item that another client deletes before it is copied is skipped: a "not found" from the copy counts only if
   * `isPresent` does not find the item either and the next listing lacks it. Nothing is removed on the strength of one
   * listing: before the first removal, every item of the first listing that the source still has in the same version
   * must be listed at the destination. Otherwise the operation fails with `unavailable`.
   */
  copyFolder(from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void>;
  /**
   * Copies a folder as `copyFolder`, then removes from the source exactly what is listed at the destination: what
   * arrived or changed in the source meanwhile stays. If an item of the first listing was not copied, no source is
   * removed. Interrupted and called again, it completes. Once it removes, it can't be cancelled.
   * It is never undone: its copies are what the same call continues from, and to remove them while that call removes
   * their sources would lose both.
   */
  moveFolder(from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void>;
}

export function createTreeOperations<Item extends { readonly size: number }>(tree: ItemTree<Item>): TreeOperations {
  const comparison = compareTrees(tree);

  /** Throws `invalid-path` where a path would be too long at the destination. */
  const requireRoom = async (from: FolderPath, to: FolderPath, { signal }: Cancellable): Promise<void> => {
    if (Buffer.byteLength(to) <= Buffer.byteLength(from)) return;
    for await (const item of tree.walk(from, { signal }))
      rebase(`${from}${tree.below(item, from)}` as FolderPath, from, to);
  };

  /**
   * Settles the conflict rule for folders. Says whether the destination is new and, where it is to be replaced, what
   * it was like.
   */
  const begin = async (operation: 'copy' | 'move', from: FolderPath, to: FolderPath, options: FolderOptions) => {
    const { replace, signal } = options;
    await tree.requireFolder(from, { signal });
    if (!(await exists(tree.requireFolder(to, { signal })))) return { isNew: true };
    if (replace) {
      const before = await comparison.survey(from, to, { signal });
      // Gone since it was looked for: nothing must be replaced by nothing.
      if (before.source === undefined) throw notFound(from);
      return { isNew: false, before };
    }
    if (!(await comparison.isResumable(operation, from, to, { signal }))) throw alreadyExists(to);
    return { isNew: false };
  };

  /** Throws if a folder exists in which a listing found nothing, not even its marker. */
  const requireGone = async (folder: FolderPath, { signal }: Cancellable): Promise<void> => {
    if (await exists(tree.requireFolder(folder, { signal }))) throw listingIncomplete(folder);
  };

  /** Copies one item. Returns false if it is gone. */
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
   * Makes `to` what `from` is, skipping what is there already, which is noted in `skipped` by its path below. Returns
   * the items of the source, and whether one was gone.
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

    // A new destination that held folders alone could not be told from one that somebody made: so files come first.
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

  /** Throws unless everything that was copied, and that the source still has as it was, is listed at the destination. */
  const requireCopied = async (from: FolderPath, to: FolderPath, { items }: Copied, { signal }: Cancellable) => {
    const survey = await comparison.survey(from, to, { expected: items, signal });
    if (survey.notCopied !== undefined) throw copyNotFound(from + survey.notCopied);
    return survey;
  };

  /** Removes a copy that was not complete, and nothing that was there without it. */
  const undoCopy = async (from: FolderPath, to: FolderPath, skipped: ReadonlySet<string>): Promise<void> => {
    const ours = async function* () {
      for await (const { copy } of comparison.done(from, to)) if (!skipped.has(tree.below(copy, to))) yield copy;
    };
    await tree.remove(ours(), { asSeen: true });
  };

  /**
   * Removes what only the destination held before, as it was then: what arrived since stays. If the source has changed
   * meanwhile, another client is at work on it, perhaps with the same move, and what is missing there now may be what
   * arrived here: then everything stays. Throws, before it removes anything, if the source has one of the items though
   * no listing shows it, or the destination lacks an item that the source had all the time.
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
   * Removes from the source what is at the destination. Where folders are items like any other, the first file goes when
   * all the rest is gone: a source that held nothing but folders could not be told from one that somebody made.
   */
  const removeCopied = async (from: FolderPath, to: FolderPath): Promise<void> => {
    if (!tree.isNested) await tree.remove(copied(from, to, { withFirstFile: false }), { asSeen: true });
    // What is left is looked at again: the first file may have changed since.
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
      // In a new destination that is what others put there just now: nearly always nothing.
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
      // The same move, sent twice, may have moved everything meanwhile.
      if (done.items.size === 0) await requireGone(from, options);
      const now = await requireCopied(from, to, done, options);
      // A destination that had all of the source may have been left by this very move while it was removing.
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

/** How often a copy is tried whose source exists though the store says that it does not. */
const COPY_ATTEMPTS = 3;

/** What was copied: the items of the first listing, and whether one of them was gone by then. */
interface Copied {
  readonly items: SeenItems;
  readonly isAnyGone: boolean;
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

/** Counts files and bytes as they are done, and reports them. */
export interface ProgressCount {
  /** Passes `items` on; when they have ended, the total is known: as many as `isCounted` holds for. */
  counted<Item>(items: AsyncIterable<Item>, isCounted: (item: Item) => boolean): AsyncGenerator<Item>;
  /** One more file of so many bytes is done. */
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
