import { useEffect } from 'preact/hooks';
import { isWritableTarget } from '../../model/folder/folder.ts';
import { useLanguageSignal } from '../../platform/text/language.ts';
import { isForPage } from '../../ui/keyboard.ts';
import { useFolder, useMessages, usePermissions, useUploads } from '../models.ts';
import { useActions } from './actions.ts';

/**
 * Handles a paste anywhere except in a text field and while a dialog is open: uploads files of other programs, otherwise
 * pastes the entries that the user cut or copied.
 */
export function usePaste(): void {
  const actions = useActions();
  const permissions = usePermissions();
  const upload = useUploadOfPastedFiles();
  useEffect(() => {
    const onPaste = (event: ClipboardEvent) => {
      const { clipboardData } = event;
      if (event.defaultPrevented || !isForPage(event)) return;
      if (!clipboardData || clipboardData.files.length === 0) {
        if (permissions.allows('write')) actions.paste();
        return;
      }
      event.preventDefault();
      upload(clipboardData);
    };
    window.addEventListener('paste', onPaste);
    return () => window.removeEventListener('paste', onPaste);
  }, []);
}

function useUploadOfPastedFiles(): (pasted: DataTransfer) => void {
  const uploads = useUploads();
  const folder = useFolder();
  const messages = useMessages();
  const permissions = usePermissions();
  const language = useLanguageSignal();
  return (pasted) => {
    const { text } = language.value;
    if (permissions.isReadOnly) return messages.show({ kind: 'error', text: text.dragging.readOnly });
    if (!isWritableTarget(folder)) return;
    if (!permissions.allows('write')) return messages.show({ kind: 'error', text: text.dragging.addDenied });
    const image = pastedImage(pasted.files);
    if (!image) return uploads.addFrom(pasted, folder.path.value);
    const name = `${text.clipboard.pastedImage} ${timeForName(new Date())}.png`;
    return uploads.add([{ file: image, folder: folder.path.value, name }]);
  };
}

/** Returns an image that never was a file, such as a screenshot: browsers name all of them alike. */
function pastedImage(files: FileList): File | undefined {
  const [file] = files;
  const isNew = file && files.length === 1 && Math.abs(Date.now() - file.lastModified) < 5_000;
  return isNew && file.name === 'image.png' ? file : undefined;
}

/** Formats a time with characters that file systems allow in names. */
function timeForName(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19).replace('T', ' ').replaceAll(':', '.');
}
