import { quoted, StoreError } from '../model/error.ts';
import { type FolderPath, isWithin, ROOT } from '../model/path.ts';
import type { Cancellable, Reporting, Store } from '../model/store.ts';
import { alreadyExists } from '../model/store-errors.ts';
import { fallbackTree } from './item-tree.ts';
import { createTreeOperations, type FolderOptions } from './tree-operations.ts';

/** The operations on a folder and everything in it. */
export interface FolderOperations {
  deleteFolder(folder: FolderPath, options?: Reporting & Cancellable): Promise<void>;
  /**
   * Copies a folder as `Store.copyFolder` does. Without that capability, copies it item by item
   * (`tree-operations.ts`).
   */
  copyFolder(from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void>;
  moveFolder(from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void>;
}

export function createFolderOperations(store: Store): FolderOperations {
  const composed = createTreeOperations(fallbackTree(store));

  return {
    async deleteFolder(folder, options) {
      if (folder === ROOT) throw new StoreError('invalid-path', "The root can't be deleted.");
      await (store.removeTree ?? composed.removeTree)(folder, options);
    },

    async copyFolder(from, to, options) {
      await requireApart(store, from, to, options);
      await (store.copyFolder ?? composed.copyFolder)(from, to, options);
    },

    async moveFolder(from, to, options) {
      await requireApart(store, from, to, options);
      await (store.moveFolder ?? composed.moveFolder)(from, to, options);
    },
  };
}

async function requireApart(store: Store, from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void> {
  if (from === ROOT) throw new StoreError('invalid-path', "The root can't be copied, moved or renamed.");
  if (to === ROOT) throw new StoreError('invalid-path', "The root can't be the destination: name the new folder.");
  if (from === to) {
    throw new StoreError('invalid-request', `The source and the destination are the same: ${quoted(from)}.`);
  }
  if (isWithin(to, from)) {
    throw new StoreError('invalid-request', `The destination ${quoted(to)} is inside the source ${quoted(from)}.`);
  }
  if (isWithin(from, to)) {
    await store.list(from, { signal: options.signal, limit: 1 });
    if (!options.replace) throw alreadyExists(to);
    throw new StoreError('invalid-request', `The destination ${quoted(to)} holds the source ${quoted(from)}.`);
  }
}
