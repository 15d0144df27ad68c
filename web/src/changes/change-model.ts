import type { Signal } from '@preact/signals';
import type { Changes } from './changes.ts';
import { createFolderCreation } from './create-folder.ts';
import { createTransferElsewhere } from './elsewhere.ts';
import type { Operation } from './operations.ts';
import type { Prompts } from './prompts.ts';
import { createRemoval } from './remove.ts';
import { createRename, type Draft } from './rename.ts';
import { type ChangesOptions, createTools } from './tools.ts';
import { createTransfers } from './transfer.ts';

/** The state of changes that the page shows. */
export interface ChangesState {
  readonly running: Signal<readonly Operation[]>;
  readonly renaming: Signal<string | null>;
  readonly draft: Signal<Draft | null>;
}

type ChangeModel = Omit<Changes, 'running' | 'renaming' | 'draft'>;

/** Creates the changes, without the components that ask the user. */
export function createChangeModel(options: ChangesOptions, state: ChangesState, prompts: Prompts): ChangeModel {
  const tools = createTools(options, prompts, state.running);
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
