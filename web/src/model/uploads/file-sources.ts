import type { FileToUpload } from './upload-item.ts';

/** Opens the browser's picker for files, or for a folder with all its content. Does nothing if the user cancels. */
export function pickFiles(kind: 'files' | 'folder', folder: string, onPicked: (files: FileToUpload[]) => void): void {
  const input = document.createElement('input');
  input.type = 'file';
  input.multiple = true;
  input.webkitdirectory = kind === 'folder';
  input.hidden = true;
  // Safari fires no events for an input outside the document.
  document.body.append(input);
  input.addEventListener('cancel', () => input.remove());
  input.addEventListener('change', () => {
    input.remove();
    onPicked(Array.from(input.files ?? [], (file) => ({ file, folder: folder + foldersAbove(file), name: file.name })));
  });
  input.click();
}

/** Returns the path of the folders that contain a picked file, from the picked folder on. */
function foldersAbove({ webkitRelativePath }: File): string {
  return webkitRelativePath.slice(0, webkitRelativePath.lastIndexOf('/') + 1);
}

/** The items of a drop or paste. The content of folders has not been read yet. */
export interface DroppedItems {
  readonly files: readonly File[];
  readonly entries: readonly FileSystemEntry[];
}

/** Returns the items of a drop or paste. Must be called during the event: afterwards, the browser removes them. */
export function droppedItems({ items }: DataTransfer): DroppedItems {
  const files: File[] = [];
  const entries: FileSystemEntry[] = [];
  for (const item of items) {
    if (item.kind !== 'file') continue;
    const entry = item.webkitGetAsEntry();
    const file = entry ? null : item.getAsFile();
    if (entry) entries.push(entry);
    else if (file) files.push(file);
  }
  return { files, entries };
}
