import type { Wanted } from './upload-item.ts';

/** Has the browser ask for files, or for a folder with all that is in it; nothing happens where a person cancels. */
export function pickFiles(kind: 'files' | 'folder', folder: string, onPicked: (wanted: Wanted[]) => void): void {
  const input = document.createElement('input');
  input.type = 'file';
  input.multiple = true;
  input.webkitdirectory = kind === 'folder';
  input.hidden = true;
  // Safari tells nothing of an input that is not in the document.
  document.body.append(input);
  input.addEventListener('cancel', () => input.remove());
  input.addEventListener('change', () => {
    input.remove();
    onPicked(Array.from(input.files ?? [], (file) => ({ file, folder: folder + folderWithin(file), name: file.name })));
  });
  input.click();
}

/** The folders that a file of a chosen folder is in, that one included. */
function folderWithin({ webkitRelativePath }: File): string {
  return webkitRelativePath.slice(0, webkitRelativePath.lastIndexOf('/') + 1);
}
