import type { Signal } from '@preact/signals';
import type { Entry } from '../../platform/service/service.ts';
import type { Prompts } from '../prompts.ts';
import { type ChangesOptions, createTools } from './change-context.ts';
import { createFolderCreation } from './create-folder.ts';
import { createTransferElsewhere } from './elsewhere.ts';
import type { Operation } from './operations.ts';
import { createRemoval } from './remove.ts';
import { createRename, type Draft } from './rename.ts';
import type { TransferKind } from './steps.ts';
import { createTransfers } from './transfer.ts';

/** The state of changes that the page shows. */
export interface ChangesState {
  readonly running: Signal<readonly Operation[]>;
  readonly renaming: Signal<string | null>;
  readonly draft: Signal<Draft | null>;
}

/**
 * Changes to stored entries. Each shows its result at once and sends the request. If the request fails, it restores the
 * previous state and shows a message. No method throws.
 */
export interface ChangeModel {
  /** Asks for a name, and creates a folder in the shown folder. */
  createFolder(): Promise<void>;
  rename(entry: Entry, newName: string): Promise<void>;
  /** Copies or moves into `folder`. Asks the user about each name that is taken there. */
  transfer(kind: TransferKind, paths: readonly string[], folder: string): Promise<void>;
  /** Asks for a folder, and copies or moves into it. */
  transferElsewhere(kind: TransferKind, paths: readonly string[]): Promise<void>;
  /** Asks for confirmation, and deletes. */
  remove(entries: readonly Entry[]): Promise<void>;
}

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
