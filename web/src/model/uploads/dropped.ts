/** What a drop or a paste brought: files, and folders that are still to be read. */
export interface Dropped {
  readonly files: readonly File[];
  readonly entries: readonly FileSystemEntry[];
}

/** Takes it out of the event: after that, it is there no more. */
export function takeDropped({ items }: DataTransfer): Dropped {
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
