import { createHash } from 'node:crypto';
import type { ItemTree } from '../../files/item-tree.ts';
import { TreeComparison } from '../../files/tree-comparison.ts';
import { exists, isStoreError } from '../../model/error.ts';
import { newKeptId } from '../../model/kept-ids.ts';
import type { FolderPath } from '../../model/path.ts';
import type { Bounded, Cancellable, Store } from '../../model/store.ts';
import { concurrentlyModified } from '../../model/store-errors.ts';
import type { Leases } from './lease.ts';
import type { ListedObject } from './operations.ts';
import type { BucketTrash } from './trash.ts';
import type { TrashDeletes } from './trash-deletes.ts';
import { moveTree } from './tree-move.ts';

/** Maximum attempts to replace a folder in which other clients create files. */
const MAX_ATTEMPTS = 5;

type FolderOperation = 'copyFolder' | 'moveFolder';
type Operations = Record<FolderOperation, NonNullable<Store['copyFolder']>>;

export interface ReplacedFolderOptions {
  readonly tree: ItemTree<ListedObject>;
  readonly trash: BucketTrash;
  readonly deletes: TrashDeletes;
  readonly leases: Leases;
}

/** Returns the operations with the ability to keep the folder that they replace, in the trash. */
export function keepReplacedFolders(operations: Operations, options: ReplacedFolderOptions): Operations {
  const keeping =
    (name: FolderOperation): Operations[FolderOperation] =>
    async (from, to, given) => {
      if (!given.keep || !given.replace) return operations[name](from, to, given);
      const isLater = await hasLater(options.tree, to, given);
      if (isLater && name === 'copyFolder' && (await isIdentical(options.tree, { from, to }))) return;
      for (let attempt = 1; ; attempt++) {
        try {
          if (!isLater && (await isReplaced(options.tree, name, { from, to })))
            await replace(name, { from, to, given });
          // Without `replace`, because it would permanently remove what other clients create there meanwhile.
          else await operations[name](from, to, { ...given, replace: false });
          return;
        } catch (error) {
          if (isLater || !isStoreError(error, 'already-exists')) throw error;
          if (attempt === MAX_ATTEMPTS) throw concurrentlyModified(error);
        }
      }
    };

  /** Moves the destination to the trash, and then copies or moves the source to the free path. */
  async function replace(name: FolderOperation, { from, to, given }: Replacement): Promise<void> {
    const { tree, trash, deletes, leases } = options;
    const { keep, signal, onProgress } = given;
    // The failed move below removes its copies, so no other process may complete the same move meanwhile.
    const lease = await leases.acquire(`replace-${createHash('sha256').update(to).digest('hex')}`, '', { signal });
    try {
      const { id } = await deletes.move(to, { id: newKeptId(), user: keep?.user, signal });
      try {
        if (name === 'copyFolder') await operations.copyFolder(from, to, { ...given, replace: false });
        else await moveTree(tree, from, to, { onProgress, signal, removalSignal: lease.signal });
      } catch (error) {
        // If the move has begun to remove the source, it can be repeated, and the replaced folder stays in the trash.
        await trash.restore(id, to).catch(() => keep?.onKept?.(id));
        throw error;
      }
      keep?.onKept?.(id);
    } finally {
      await lease.release();
    }
  }

  return { copyFolder: keeping('copyFolder'), moveFolder: keeping('moveFolder') };
}

interface Replacement {
  readonly from: FolderPath;
  readonly to: FolderPath;
  readonly given: Parameters<Operations[FolderOperation]>[2];
}

/** Returns whether the destination has content that arrived after the operation was requested, perhaps by its first attempt. */
async function hasLater(
  tree: ItemTree<ListedObject>,
  to: FolderPath,
  { before, signal }: Bounded & Cancellable,
): Promise<boolean> {
  if (before === undefined) return false;
  for await (const { modified } of tree.walk(to, { signal }))
    if (modified === undefined || modified >= before) return true;
  return false;
}

/** Returns whether the destination is a complete copy of the source, without other items. */
async function isIdentical(
  tree: ItemTree<ListedObject>,
  { from, to }: Pick<Replacement, 'from' | 'to'>,
): Promise<boolean> {
  const { source, missing, extras } = await new TreeComparison(tree, from, to).survey({});
  return source !== undefined && missing === undefined && extras.size === 0;
}

/** Returns whether the destination exists and is not the result of this operation, interrupted before. */
async function isReplaced(
  tree: ItemTree<ListedObject>,
  name: FolderOperation,
  { from, to }: Pick<Replacement, 'from' | 'to'>,
): Promise<boolean> {
  await tree.requireFolder(from, {});
  if (!(await exists(tree.requireFolder(to, {})))) return false;
  return !(await new TreeComparison(tree, from, to).isResumable(name === 'moveFolder' ? 'move' : 'copy', {}));
}
