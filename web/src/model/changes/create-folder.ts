import { batch } from '@preact/signals';
import { nameOf, parentOf } from '../../platform/paths.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import { folderEntry } from './entries.ts';
import type { Tools } from './change-context.ts';

export interface FolderCreation {
  /** Asks for a name, and creates a folder of it in the one that is shown. */
  createFolder(): Promise<void>;
  /** Creates a folder; gives whether the service did. */
  create(path: string): Promise<boolean>;
}

export function createFolderCreation(tools: Tools): FolderCreation {
  const { service, folder, selection, prompts, messages, turns, notBegun, language } = tools;

  const create = async (path: string): Promise<boolean> => {
    const pending = folder.begin({ added: [folderEntry(path)] });
    try {
      await turns.inTurn({ written: [path] }, async ({ isUncertain }) => {
        if (isUncertain(path)) throw notBegun();
        await service.createFolder(path);
      });
      pending.settle();
      const { text } = language.value;
      messages.announce(text.changes.created({ name: nameOf(path) }));
      return true;
    } catch (error) {
      pending.takeBack();
      const { text } = language.value;
      const detail = language.value.reasonOf(asServiceError(error));
      messages.say({ kind: 'error', text: text.changes.notCreated({ name: nameOf(path) }), detail });
      tools.refresh([parentOf(path)]);
      return false;
    }
  };

  return {
    create,
    async createFolder() {
      const { value: here } = folder.path;
      const isTaken = (name: string) => [name, `${name}/`].some((end) => folder.entryOf(here + end) !== undefined);
      const name = await prompts.promptName({ folder: here, isTaken });
      if (name === null) return;
      const path = `${here}${name}/`;
      await leaveFocus();
      const creating = batch(() => {
        const begun = create(path);
        if (folder.path.value === here) {
          folder.focused.value = path;
          selection.only(path);
        }
        return begun;
      });
      await creating;
    },
  };
}

/**
 * Once the dialog is closed, what it was opened from has the focus again; it is left, for the folder to give the focus
 * to what is new there.
 */
async function leaveFocus(): Promise<void> {
  await new Promise(requestAnimationFrame);
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}
