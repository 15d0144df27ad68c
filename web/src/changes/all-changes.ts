import type { Signal } from '@preact/signals';
import type { Changes } from './changes.ts';
import { createFolderCreation } from './create-folder.ts';
import { createTransferElsewhere } from './elsewhere.ts';
import type { Operation } from './operations.ts';
import { createRemoval } from './remove.ts';
import { createRename, type Draft } from './rename.ts';
import { type ChangesOptions, createTools } from './tools.ts';
import { createTransfers } from './transfer.ts';

/** What the page shows of changes from the beginning on. */
export interface ChangesState {
  readonly running: Signal<readonly Operation[]>;
  readonly renaming: Signal<string | null>;
  readonly draft: Signal<Draft | null>;
}

/** The changes themselves, which are loaded a moment after the page. */
export function createAllChanges(
  options: ChangesOptions,
  state: ChangesState,
): Omit<Changes, 'running' | 'renaming' | 'draft'> {
  const tools = createTools(options, state.running);
  const { create, createFolder } = createFolderCreation(tools);
  const { transfer } = createTransfers(tools);
  return {
    createFolder,
    rename: createRename(tools, state),
    transfer,
    transferElsewhere: createTransferElsewhere(tools, { transfer, create }),
    remove: createRemoval(tools).remove,
  };
}
