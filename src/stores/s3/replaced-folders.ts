import type { ItemTree } from '../../files/item-tree.ts';
import { TreeComparison } from '../../files/tree-comparison.ts';
import { exists } from '../../model/error.ts';
import { newKeptId } from '../../model/kept-ids.ts';
import type { FolderPath } from '../../model/path.ts';
import type { Store } from '../../model/store.ts';
import type { ListedObject } from './operations.ts';
import type { BucketTrash } from './trash.ts';
import type { TrashDeletes } from './trash-deletes.ts';

type FolderOperation = 'copyFolder' | 'moveFolder';
type Operations = Required<Pick<Store, FolderOperation>>;

/** Returns the operations with the ability to keep the folder that they replace, in the trash. */
export function keepReplacedFolders(
  operations: Operations,
  tree: ItemTree<ListedObject>,
  { trash, deletes }: { readonly trash: BucketTrash; readonly deletes: TrashDeletes },
): Operations {
  const keeping =
    (name: FolderOperation): Operations[FolderOperation] =>
    async (from, to, options) => {
      const { keep, signal } = options;
      if (!keep || !options.replace || !(await isReplaced(name, from, to))) return operations[name](from, to, options);
      const { id } = await deletes.move(to, { id: newKeptId(), user: keep.user, signal });
      try {
        await operations[name](from, to, { ...options, replace: false });
      } catch (error) {
        // If a part of the new folder remains, the call can be repeated, and the replaced folder stays in the trash.
        await trash.restore(id, to).catch(() => keep.onKept?.(id));
        throw error;
      }
      keep.onKept?.(id);
    };

  /** Returns whether the destination exists and is not the result of this operation, interrupted before. */
  async function isReplaced(name: FolderOperation, from: FolderPath, to: FolderPath): Promise<boolean> {
    await tree.requireFolder(from, {});
    if (!(await exists(tree.requireFolder(to, {})))) return false;
    return !(await new TreeComparison(tree, from, to).isResumable(name === 'moveFolder' ? 'move' : 'copy', {}));
  }

  return { copyFolder: keeping('copyFolder'), moveFolder: keeping('moveFolder') };
}
