import { rmdir } from 'node:fs/promises';
import { nameOf, ROOT } from '../../domain/path.ts';
import { notEmpty } from '../../domain/problems.ts';
import type { Store } from '../../domain/store.ts';
import { codeOf } from '../../domain/system-error.ts';
import { inParent } from './place.ts';
import type { Root } from './root.ts';

/** The making and unmaking of single folders. */
export function createSingleFolderOperations(root: Root): Pick<Store, 'createFolder' | 'removeFolder'> {
  return {
    async createFolder(path) {
      await using _made = await root.makeFolder(path);
    },

    async removeFolder(path) {
      if (path === ROOT) throw notEmpty(path);
      await inParent(root, path, async (parent) => {
        try {
          await rmdir(parent.at(nameOf(path)));
          await parent.sync();
        } catch (error) {
          throw codeOf(error) === 'ENOTEMPTY' ? notEmpty(path, error) : error;
        }
      });
    },
  };
}
