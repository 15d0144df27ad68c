import { askAboutConflict } from '../controls/conflict-question.tsx';
import { type ChangesState, createChangeModel } from './change-model.ts';
import type { Changes } from './changes.ts';
import { askForNewFolder } from './new-folder-question.tsx';
import { askWhetherToRemove } from './remove-question.tsx';
import type { ChangesOptions } from './tools.ts';

/** The changes of the page, which are loaded a moment after the page. They ask the user in dialogs. */
export function createAllChanges(
  options: ChangesOptions,
  state: ChangesState,
): Omit<Changes, 'running' | 'renaming' | 'draft'> {
  const { dialogs } = options;
  return createChangeModel(options, state, {
    promptName: (place) => askForNewFolder({ dialogs, ...place }),
    confirmDelete: (entries) => askWhetherToRemove(dialogs, entries),
    resolveConflict: (conflict) => askAboutConflict({ dialogs, ...conflict }),
  });
}
