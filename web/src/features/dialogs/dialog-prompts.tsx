import type { Prompts } from '../../model/prompts.ts';
import type { Dialogs } from '../../ui/dialog.tsx';
import { askAboutConflict } from './conflict-question.tsx';
import { askForNewFolder } from './new-folder-question.tsx';
import { askWhetherToRemove } from './remove-question.tsx';

/** Creates prompts that ask in dialogs. The folder picker is loaded when it is needed. */
export function createDialogPrompts(dialogs: Dialogs): Prompts {
  return {
    promptName: (place) => askForNewFolder({ dialogs, ...place }),
    confirmDelete: (entries) => askWhetherToRemove(dialogs, entries),
    resolveConflict: (conflict) => askAboutConflict({ dialogs, ...conflict }),
    async pickFolder(transfer) {
      const { askForFolder } = await import('./folder-picker.tsx');
      return askForFolder({ dialogs, ...transfer });
    },
  };
}
