/** Opens the browser's picker for files, or for a folder with all its content. Does nothing if the user cancels. */
export function pickFiles(kind: 'files' | 'folder', onPicked: (files: readonly File[]) => void): void {
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
    onPicked([...(input.files ?? [])]);
  });
  input.click();
}
