import type { ReadonlySignal } from '@preact/signals';
import { type Folder, refreshUnlessLarge } from '../../model/folder/folder.ts';
import type { Messages } from '../../model/messages.ts';
import { writeFile } from '../../platform/service/file-contents.ts';
import type { Service } from '../../platform/service/service.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { askForFileName } from '../dialogs/new-folder-dialog.tsx';
import { Editor } from './editor.tsx';

/** Opens a text file in the editor, over the whole window. */
export function openEditor(dialogs: Dialogs, path: string): void {
  /** Closes the editor. While it has unsaved changes, it asks the user first. */
  let leave = () => {};
  const setLeave = (next: () => void) => {
    leave = next;
  };
  void dialogs.open(
    (close) => <Editor path={path} close={() => close(null)} onLeave={setLeave} />,
    () => leave(),
  );
}

interface NewFileModels {
  readonly dialogs: Dialogs;
  readonly folder: Folder;
  readonly language: ReadonlySignal<FullLanguage>;
  readonly messages: Messages;
  readonly service: Service;
}

/** Asks for a name, creates an empty text file in the shown folder, and opens it in the editor. Never throws. */
export async function createTextFile({ dialogs, folder, language, messages, service }: NewFileModels): Promise<void> {
  const parent = folder.path.value;
  const isTaken = (name: string) => [name, `${name}/`].some((end) => folder.entryOf(parent + end) !== undefined);
  const name = await askForFileName(dialogs, { folder: parent, isTaken });
  if (name === null) return;
  const path = parent + name;
  try {
    // The service knows the media type of the name.
    await writeFile(service, path, { bytes: new Uint8Array(), contentType: '', replaces: 'absent' });
  } catch (error) {
    const { text, reasonOf } = language.value;
    messages.show({
      kind: 'error',
      text: text.changes.notCreated({ name }),
      detail: reasonOf(asServiceError(error)),
    });
    return;
  }
  refreshUnlessLarge(folder);
  openEditor(dialogs, path);
}
