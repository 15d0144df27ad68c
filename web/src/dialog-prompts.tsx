import { askForNewFolder } from './changes/new-folder-question.tsx';
import { askWhetherToRemove } from './changes/remove-question.tsx';
import { askAboutConflict } from './controls/conflict-question.tsx';
import type { Dialogs } from './controls/dialogs.ts';
import type { Prompts } from './prompts.ts';

/** Creates prompts that ask in dialogs. The folder picker is loaded when it is needed. */
export function createDialogPrompts(dialogs: Dialogs): Prompts {
  return {
    promptName: (place) => askForNewFolder({ dialogs, ...place }),
    confirmDelete: (entries) => askWhetherToRemove(dialogs, entries),
    resolveConflict: (conflict) => askAboutConflict({ dialogs, ...conflict }),
    async pickFolder(transfer) {
      const { askForFolder } = await import('./changes/folder-picker.tsx');
      return askForFolder({ dialogs, ...transfer });
    },
  };
}
