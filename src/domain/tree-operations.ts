import { concurrently } from './concurrently.ts';
import { isThere } from './error.ts';
import type { ItemTree } from './item-tree.ts';
import type { Pair } from './pairs.ts';
import { type FolderPath, rebase } from './path.ts';
import { existsAlready, notFound } from './problems.ts';
import { countProgress } from './progress.ts';
import type { Cancellable, Replacing, Reporting } from './store.ts';
import { compareTrees, type Survey } from './tree-comparison.ts';

export type FolderOptions = Replacing & Reporting & Cancellable;

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
   * It is never undone: its copies are what the same call goes on from, and to remove them while that removes their
   * sources would lose both.
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
    if (!(await isThere(tree.requireFolder(to, { signal })))) return { isNew: true };
    if (replace) {
      const before = await comparison.survey(from, to, { signal });
      // Gone since it was looked for: nothing must be replaced by nothing.
      if (before.source === undefined) throw notFound(from);
      return { isNew: false, before };
    }
    if (!(await comparison.isLeftOver(operation, from, to, { signal }))) throw existsAlready(to);
    return { isNew: false };
  };

  /** Makes `to` what `from` is, skipping what is there already, which is noted in `skipped` by its path below. */
  const copyAll = async (
    from: FolderPath,
    to: FolderPath,
    { isNew, skipped, ...options }: FolderOptions & { isNew: boolean; skipped?: Set<string> },
  ): Promise<void> => {
    const { replace, signal } = options;
    const report = countProgress(options);
    const isCounted = ({ source }: Pair<Item>) => source !== undefined && tree.isFile(source);
    const firstFile = Promise.withResolvers<void>();

    const copyOne = async (pair: Pair<Item>): Promise<void> => {
      const { source, copy: present } = pair;
      if (source === undefined) return;
      try {
        if (await comparison.isDone(pair, { signal })) skipped?.add(tree.below(source, from));
        else await tree.copy(source, { from, to, present }, { replace, signal });
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
  };

  /** Removes a copy that was not complete, and nothing that was there without it. */
  const undoCopy = async (from: FolderPath, to: FolderPath, skipped: ReadonlySet<string>): Promise<void> => {
    const ours = async function* () {
      for await (const { copy } of comparison.done(from, to)) if (!skipped.has(tree.below(copy, to))) yield copy;
    };
    await tree.remove(ours(), { asSeen: true });
  };

  /**
   * Removes what only the destination held before, as it was then: what arrived since stays. Where the source has
   * changed meanwhile, somebody else is at work on it, perhaps with the same move, and what is missing there now may
   * be what came here: then all stays.
   */
  const removeExtras = async (from: FolderPath, to: FolderPath, before: Survey<Item>): Promise<void> => {
    if (before.extras.size === 0) return;
    const now = await comparison.survey(from, to, {});
    if (now.source !== before.source) return;
    const extras = async function* () {
      for (const [below, item] of now.extras) {
        const known = before.extras.get(below);
        if (known && tree.versionOf(known) === tree.versionOf(item)) yield item;
      }
    };
    await tree.remove(extras(), { asSeen: true });
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
      try {
        await copyAll(from, to, { ...options, isNew, ...(isNew && { skipped }) });
      } catch (error) {
        if (isNew) await undoCopy(from, to, skipped);
        throw error;
      }
      if (before) await removeExtras(from, to, before);
    },

    async moveFolder(from, to, options) {
      const { isNew, before } = await begin('move', from, to, options);
      await requireRoom(from, to, options);
      await copyAll(from, to, { ...options, isNew });
      // A destination that had all of the source may have been left by this very move while it was removing.
      if (before && !before.isAllCopied) await removeExtras(from, to, before);
      await removeCopied(from, to);
    },

    async removeTree(folder, options = {}) {
      const { signal } = options;
      await tree.requireFolder(folder, { signal });
      const report = countProgress(options);
      await tree.remove(
        report.counted(tree.walk(folder, { signal }), (item) => tree.isFile(item)),
        { asSeen: false, signal, onRemoved: (item) => tree.isFile(item) && report.add(item.size) },
      );
    },
  };
}
