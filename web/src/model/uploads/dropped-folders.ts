import type { Dropped } from './dropped.ts';
import type { Wanted } from './upload-item.ts';

/** What was dropped or pasted, with all that is in its folders. */
export interface Found {
  readonly files: readonly Wanted[];
  /** Folders that have nothing in them. */
  readonly emptyFolders: readonly string[];
  /** What could not be read: paths within what was dropped. */
  readonly unreadable: readonly string[];
}

/**
 * Reads what was dropped or pasted, as files of `folder`. `onFound` is told how many files there are so far. Never
 * throws.
 */
export async function readDropped(dropped: Dropped, folder: string, onFound: (files: number) => void): Promise<Found> {
  const files: Wanted[] = dropped.files.map((file) => ({ file, folder, name: file.name }));
  const emptyFolders: string[] = [];
  const unreadable: string[] = [];

  const readEntry = async (entry: FileSystemEntry, into: string): Promise<void> => {
    try {
      if (isDirectory(entry)) await readFolder(entry, `${into}${entry.name}/`);
      else if (isFile(entry)) files.push({ file: await fileOf(entry), folder: into, name: entry.name });
    } catch {
      unreadable.push(entry.fullPath.replace(/^\//, ''));
    }
  };
  const readFolder = async (directory: FileSystemDirectoryEntry, path: string): Promise<void> => {
    const reader = directory.createReader();
    let isEmpty = true;
    // A reader gives a hundred entries or so at a time, and none at the end.
    for (let entries = await entriesOf(reader); entries.length > 0; entries = await entriesOf(reader)) {
      isEmpty = false;
      await Promise.all(entries.filter(isFile).map((entry) => readEntry(entry, path)));
      onFound(files.length);
      for (const entry of entries.filter(isDirectory)) await readEntry(entry, path);
    }
    if (isEmpty) emptyFolders.push(path);
  };
  for (const entry of dropped.entries) await readEntry(entry, folder);
  return { files, emptyFolders, unreadable };
}

const isDirectory = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;
const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

function entriesOf(reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> {
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject));
}
