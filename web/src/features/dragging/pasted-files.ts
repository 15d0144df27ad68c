import type { ReadonlySignal } from '@preact/signals';
import type { Permissions } from '../../model/account/permissions.ts';
import { type Folder, isWritableTarget } from '../../model/folder/folder.ts';
import type { Messages } from '../../model/messages.ts';
import type { Uploads } from '../../model/uploads/uploads.ts';
import type { Language } from '../../platform/text/language.ts';
import { isForPage } from '../../ui/keyboard.ts';

interface PasteOptions {
  readonly uploads: Uploads;
  readonly folder: Folder;
  readonly messages: Messages;
  readonly language: ReadonlySignal<Language>;
  readonly permissions: Permissions;
}

/**
 * Uploads files that the user pastes, except into a text field or while a dialog is open. A paste with files is
 * `defaultPrevented` when it reaches the window. The listener stays for the lifetime of the page.
 */
export function uploadPastedFiles({ uploads, folder, messages, language, permissions }: PasteOptions): void {
  document.addEventListener('paste', (event) => {
    const { clipboardData } = event;
    if (!clipboardData || clipboardData.files.length === 0 || !isForPage(event)) return;
    event.preventDefault();
    const { text } = language.value;
    if (permissions.isReadOnly) return messages.say({ kind: 'error', text: text.dragging.readOnly });
    if (!isWritableTarget(folder)) return;
    if (!permissions.allows('write')) return messages.say({ kind: 'error', text: text.dragging.mayNotAdd });
    const image = pastedImage(clipboardData.files);
    if (!image) return uploads.addFrom(clipboardData, folder.path.value);
    const name = `${text.clipboard.pastedImage} ${timeForName(new Date())}.png`;
    return uploads.add([{ file: image, folder: folder.path.value, name }]);
  });
}

/** Returns an image that never was a file, such as a screenshot: browsers name all of them alike. */
function pastedImage(files: FileList): File | undefined {
  const [file] = files;
  const isNew = file && files.length === 1 && Math.abs(Date.now() - file.lastModified) < 5_000;
  return isNew && file.name === 'image.png' ? file : undefined;
}

/** Formats a time with characters that file systems allow in names. */
function timeForName(time: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-');
  return `${date} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join('.')}`;
}
