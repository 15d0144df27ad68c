import { concurrently, mapAhead } from '../concurrency/concurrently.ts';
import { exists, isStoreError } from '../model/error.ts';
import { type FolderPath, rebase } from '../model/path.ts';
import type { Bounded, Cancellable, Keeping, Replacing, Reporting, Undoing } from '../model/store.ts';
import { alreadyExists, copyNotFound, inconsistentStore, listingIncomplete, notFound } from '../model/store-errors.ts';
import type { ExclusiveUse, ItemTree } from './item-tree.ts';
import { ProgressCounter } from './progress.ts';
import { type Pair, SeenItems, TreeComparison, type TreeSurvey } from './tree-comparison.ts';

export type FolderOptions = Replacing & Keeping & Bounded & Undoing & Reporting & Cancellable;

/** Maximum attempts to copy an item whose source exists although the store returns 404 for it. */
const MAX_COPY_ATTEMPTS = 3;

/**
 * One copy or move of a folder, item by item. Call either `copy` or `move`, once. They fulfil the contracts of
 * `Store.copyFolder` and `Store.moveFolder`.
 */
export class FolderTransfer<Item extends { readonly size: number }> {
  readonly #tree: ItemTree<Item>;
  readonly #from: FolderPath;
  readonly #to: FolderPath;
  readonly #options: FolderOptions;
  readonly #comparison: TreeComparison<Item>;
  readonly #progress: ProgressCounter;

  /** Whether the destination did not exist. */
  #isNew = true;
  /** The comparison before the first change, if the destination must be replaced. */
  #before: TreeSurvey<Item> | undefined;
  /** The items of the source, as they were listed for copying. */
  readonly #listed = new SeenItems();
  /** Whether another client deleted one of these items before it was copied. */
  #isAnyMissing = false;
  /** Relative paths of items that the destination already had; only for a copy that can be undone. */
  #skipped: Set<string> | undefined;
  /** Set once the operation relies on items that the destination already had, or removes its copies. */
  #use: Promise<ExclusiveUse | undefined> | undefined;

  constructor(tree: ItemTree<Item>, from: FolderPath, to: FolderPath, options: FolderOptions) {
    this.#tree = tree;
    this.#from = from;
    this.#to = to;
    this.#options = options;
    this.#comparison = new TreeComparison(tree, from, to);
    this.#progress = new ProgressCounter(options);
  }

  /**
   * Copies the folder. With `replace`, the destination becomes identical to the source, and all other items in it are
   * removed. A copy to a new destination is undone if it fails or is cancelled.
   *
   * An item that another client deletes before it is copied is skipped. A `not-found` from the copy counts only if
   * `isPresent` does not find the item either and the next listing lacks it. A single listing is never reason enough
   * to remove an item. Before the first removal, the destination must list every item of the first listing that the
   * source still has in the same version. Otherwise, the operation throws `unavailable`.
   *
   * An identical operation at the same time might undo the copies that this one skips. So the first skip excludes all undos,
   * and then the destination must list every item. An undo leaves a destination that another operation uses or has completed.
   */
  async copy(): Promise<void> {
    await this.#releasing(async () => this.#copy());
  }

  async #copy(): Promise<void> {
    await this.#checkConflict('copy');
    await this.#requireTransferable();
    // In a new destination, only items that other clients created a moment ago are skipped: nearly always none.
    if (this.#isNew) this.#skipped = new Set();
    const now = await this.#copyOrUndo();
    if (this.#before && now) await this.#removeExtras(this.#before, now);
  }

  /**
   * Copies the folder as `copy` does, then removes from the source exactly the items that are listed at the
   * destination. Items that arrived in the source meanwhile remain, and so do items that changed, if the store supports
   * conditional deletions. If an item of the first listing was not copied, nothing is removed from the source. An
   * interrupted move completes when it is called again. A move can't be cancelled after the first removal.
   *
   * A failed move is never undone, because repeating the call continues from its copies. If an undo removed the
   * copies while the repeated call removes the sources, both would be lost.
   */
  async move(): Promise<void> {
    await this.#releasing(async () => this.#move());
  }

  async #move(): Promise<void> {
    await this.#checkConflict('move');
    await this.#requireTransferable();
    await this.#copyItems();
    // A second, identical move might have moved everything meanwhile.
    if (this.#listed.size === 0) await requireRemoved(this.#tree, this.#from, this.#options);
    const now = await this.#requireCopied();
    // If the destination had everything that the source has, it can be the result of this move, interrupted while
    // removing.
    if (this.#before && !this.#before.isAllCopied) await this.#removeExtras(this.#before, now);
    await this.#removeCopied();
  }

  /** Checks the conflict rules for folders. Compares the folders if the destination must be replaced. */
  async #checkConflict(operation: 'copy' | 'move'): Promise<void> {
    const { replace, signal } = this.#options;
    await this.#tree.requireFolder(this.#from, { signal });
    this.#isNew = !(await exists(this.#tree.requireFolder(this.#to, { signal })));
    if (this.#isNew) return;
    if (replace) {
      this.#before = await this.#comparison.survey({ signal });
      // The source was deleted after the check above. An empty listing must not replace the destination.
      if (this.#before.source === undefined) throw notFound(this.#from);
      return;
    }
    if (!(await this.#comparison.isResumable(operation, { signal }))) throw alreadyExists(this.#to);
    await this.#useExclusively({ signal });
  }

  /** Throws `invalid-path` before the first change if a path would be too long at the destination, or has no name. */
  async #requireTransferable(): Promise<void> {
    const { signal } = this.#options;
    const mayBeTooLong = Buffer.byteLength(this.#to) > Buffer.byteLength(this.#from);
    if (!mayBeTooLong && !this.#tree.walkStrictly) return;
    const items = this.#tree.walkStrictly?.(this.#from, { signal }) ?? this.#tree.walk(this.#from, { signal });
    for await (const item of items) {
      rebase((this.#from + this.#relativePath(item)) as FolderPath, this.#from, this.#to, this.#tree.maxPathBytes);
    }
  }

  /** Copies all items. Returns the survey after that, if items might have to be removed. */
  async #copyOrUndo(): Promise<TreeSurvey<Item> | undefined> {
    const hasExtras = this.#before !== undefined && this.#before.extras.size > 0;
    try {
      await this.#copyItems();
      if (this.#listed.size === 0) {
        await requireRemoved(this.#tree, this.#from, this.#options);
        throw notFound(this.#from);
      }
      return hasExtras || this.#isAnyMissing || this.#use ? await this.#requireCopied() : undefined;
    } catch (error) {
      if (this.#skipped && (await this.#mayUndo())) await this.#undo(this.#skipped);
      throw error;
    }
  }

  /** Makes the destination contain all items of the source. Skips items that are already there. */
  async #copyItems(): Promise<void> {
    const firstFile = Promise.withResolvers<void>();
    const copyPair = async (pair: Pair<Item>) => {
      try {
        await this.#copyPair(pair);
      } finally {
        if (pair.source && this.#tree.isFile(pair.source)) firstFile.resolve();
      }
    };
    const pairs = this.#pairsInOrder({ copyPair, firstFile: firstFile.promise });
    await concurrently(pairs, this.#tree.concurrency, copyPair, this.#options.signal);
  }

  /**
   * Yields the pairs to copy, and adds their sources to `#listed`. Yields files before folders for a new destination. A
   * destination that contains only folders could not be recognized as that of an interrupted operation.
   */
  async *#pairsInOrder({
    copyPair,
    firstFile,
  }: {
    copyPair: (pair: Pair<Item>) => Promise<void>;
    firstFile: Promise<void>;
  }): AsyncGenerator<Pair<Item>> {
    const isFile = ({ source }: Pair<Item>) => source !== undefined && this.#tree.isFile(source);
    const { signal } = this.#options;
    const folders: Pair<Item>[] = [];
    let hasFiles = false;
    for await (const pair of this.#progress.countFiles(this.#comparison.pairs({ signal }), isFile)) {
      if (pair.source === undefined) continue;
      this.#listed.add(this.#relativePath(pair.source), this.#tree.versionOf(pair.source));
      if (isFile(pair)) {
        hasFiles = true;
        yield pair;
      } else if (this.#isNew) folders.push(pair);
      else if (this.#tree.isNested) await copyPair(pair);
      else yield pair;
    }
    if (hasFiles) await firstFile;
    yield* folders;
  }

  /** Copies the item of one pair, unless the destination has it. */
  async #copyPair(pair: Pair<Item>): Promise<void> {
    const { source, copy: present } = pair;
    if (source === undefined) return;
    const { signal } = this.#options;
    if (await this.#comparison.isCopied(pair, { signal })) {
      await this.#useExclusively({ signal });
      this.#skipped?.add(this.#relativePath(source));
    } else if (!(await this.#copyItem(source, present))) this.#isAnyMissing = true;
    if (this.#tree.isFile(source)) this.#progress.add(source.size);
  }

  /** Copies one item. Returns false if it no longer exists. */
  async #copyItem(source: Item, present: Item | undefined): Promise<boolean> {
    const { replace, signal } = this.#options;
    const path = this.#relativePath(source);
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#tree.copy(source, { from: this.#from, to: this.#to, present }, { replace, signal });
        return true;
      } catch (error) {
        if (!isStoreError(error, 'not-found')) throw error;
        // Some stores return 404 for a copy source that exists, because of the characters in its name.
        if (!(await this.#tree.isPresent(path, this.#from, { signal }))) return false;
        if (attempt === MAX_COPY_ATTEMPTS) throw inconsistentStore(this.#from + path, error);
      }
    }
  }

  /** Throws unless every copied item that the source still has in the same version is listed at the destination. */
  async #requireCopied(): Promise<TreeSurvey<Item>> {
    const survey = await this.#comparison.survey({ expected: this.#listed, signal: this.#options.signal });
    if (survey.notCopied !== undefined) throw copyNotFound(this.#from + survey.notCopied);
    (await this.#use)?.signal.throwIfAborted();
    return survey;
  }

  #useExclusively(options: Cancellable): Promise<ExclusiveUse | undefined> {
    this.#use ??= Promise.resolve(this.#tree.useExclusively?.(this.#to, options));
    return this.#use;
  }

  async #releasing(operation: () => Promise<void>): Promise<void> {
    try {
      await operation();
    } finally {
      const use = await this.#use?.catch(() => undefined);
      await use?.release();
    }
  }

  /** Returns whether no other operation uses the incomplete copy, or has completed it. */
  async #mayUndo(): Promise<boolean> {
    const { beforeUndo = async () => {} } = this.#options;
    try {
      await beforeUndo();
      if (!(await this.#useExclusively({}))) return true;
      const { source, missing } = await this.#comparison.survey({});
      return source !== undefined && missing !== undefined;
    } catch {
      return false;
    }
  }

  /** Removes an incomplete copy. The items `skipped`, which existed before it, remain. */
  async #undo(skipped: ReadonlySet<string>): Promise<void> {
    const [tree, to, pairs] = [this.#tree, this.#to, this.#comparison.copiedPairs()];
    const created = async function* () {
      for await (const { copy } of pairs) if (!skipped.has(tree.relativePath(copy, to))) yield copy;
    };
    await tree.remove(created(), { onlyUnchanged: true });
  }

  /**
   * Removes items that only the destination had before, if they are unchanged. If the source has changed meanwhile,
   * another client is working on it, perhaps with the same move. An item that is missing there might then have been
   * moved here, so nothing is removed. Throws before the first removal if the source has one of these items although
   * no listing contains it, because then listings are incomplete. Also throws if the destination lacks an item that
   * the source had all the time.
   */
  async #removeExtras(before: TreeSurvey<Item>, now: TreeSurvey<Item>): Promise<void> {
    if (now.source !== before.source) return;
    if (now.missing !== undefined) throw copyNotFound(this.#from + now.missing);
    const extras = [...now.extras].filter(([path, item]) => {
      const known = before.extras.get(path);
      return known && this.#tree.versionOf(known) === this.#tree.versionOf(item);
    });
    const isInSource = ([path]: [string, Item]) => this.#tree.isPresent(path, this.#from, {});
    for await (const { item, found } of mapAhead(each(extras), this.#tree.concurrency, isInSource)) {
      if (found) throw listingIncomplete(this.#from + item[0]);
    }
    await this.#tree.remove(each(extras.map(([, item]) => item)), { onlyUnchanged: true });
  }

  /**
   * Removes from the source the items that are at the destination. If folders are items like files, the first file is
   * removed last. A source that contains only folders could not be recognized as that of an interrupted move.
   */
  async #removeCopied(): Promise<void> {
    if (!this.#tree.isNested) {
      await this.#tree.remove(this.#copiedSources({ withFirstFile: false }), { onlyUnchanged: true });
    }
    // This lists the rest again, because the first file can have changed since.
    await this.#tree.remove(this.#copiedSources({ withFirstFile: true }), { onlyUnchanged: true });
  }

  async *#copiedSources({ withFirstFile }: { withFirstFile: boolean }): AsyncGenerator<Item> {
    let skipsNextFile = !withFirstFile;
    for await (const { source } of this.#comparison.copiedPairs()) {
      if (skipsNextFile && this.#tree.isFile(source)) skipsNextFile = false;
      else yield source;
    }
  }

  #relativePath(source: Item): string {
    return this.#tree.relativePath(source, this.#from);
  }
}

/** Deletes a folder item by item. Fulfils the contract of `Store.removeTree`. */
export async function deleteItems<Item extends { readonly size: number }>(
  tree: ItemTree<Item>,
  folder: FolderPath,
  options: Reporting & Cancellable = {},
): Promise<void> {
  const { signal } = options;
  await tree.requireFolder(folder, { signal });
  const progress = new ProgressCounter(options);
  let isAnyRemoved = false;
  const onRemoved = (item: Item) => {
    isAnyRemoved = true;
    if (tree.isFile(item)) progress.add(item.size);
  };
  const items = tree.walkInAnyOrder?.(folder, { signal }) ?? tree.walk(folder, { signal });
  const counted = progress.countFiles(items, (item) => tree.isFile(item));
  await tree.remove(counted, { onlyUnchanged: false, signal, onRemoved });
  if (!isAnyRemoved) await requireRemoved(tree, folder, { signal });
}

/** Throws `unavailable` if a folder exists although its listing is empty, even without its marker. */
async function requireRemoved<Item extends { readonly size: number }>(
  tree: ItemTree<Item>,
  folder: FolderPath,
  { signal }: Cancellable,
): Promise<void> {
  if (await exists(tree.requireFolder(folder, { signal }))) throw listingIncomplete(folder);
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
