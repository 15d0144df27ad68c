import type { Prompts } from '../../model/prompts.ts';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { askAboutConflict } from './conflict-dialog.tsx';
import { confirmDelete } from './delete-dialog.tsx';
import { askForFolderName } from './new-folder-dialog.tsx';

/** Creates prompts that open dialogs. Rare ones are loaded when they are needed. */
export function createDialogPrompts(dialogs: Dialogs): Prompts {
  return {
    async promptName(parent) {
      const name = await askForFolderName(dialogs, parent);
      if (name !== null) await releaseFocus();
      return name;
    },
    async promptNames(entries, isTaken) {
      const { askForNewNames } = await import('../rename/rename-dialog.tsx');
      return askForNewNames(dialogs, entries, isTaken);
    },
    confirmDelete: (entries) => confirmDelete(dialogs, entries),
    async confirmDeleteVersions(name) {
      const { confirmDeleteVersions } = await import('./delete-versions-dialog.tsx');
      return confirmDeleteVersions(dialogs, name);
    },
    resolveConflict: (conflict) => askAboutConflict(dialogs, conflict),
    async pickFolder(transfer) {
      const { pickFolder } = await import('./folder-picker.tsx');
      return pickFolder(dialogs, transfer);
    },
  };
}

/** The closed dialog returns the focus to its opener. Removes it from there, so that the new folder can take it. */
async function releaseFocus(): Promise<void> {
  await new Promise(requestAnimationFrame);
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}
