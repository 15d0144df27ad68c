import { computed, type ReadonlySignal, signal } from '@preact/signals';
import type { FileSource } from '../../platform/file-handles.ts';
import type { FileToUpload } from './upload-item.ts';

/** The items of a drop or paste. The content of folders has not been read yet. */
export interface DroppedItems {
  readonly files: readonly File[];
  readonly entries: readonly DroppedEntry[];
}

/** A dropped file or folder. */
export interface DroppedEntry {
  readonly entry: FileSystemEntry;
  /** Reads it again after a reload; absent if the browser can't. */
  readonly handle?: Promise<FileSystemHandle | null> | undefined;
}

/** The dropped files, and all files in dropped folders. */
export interface FoundFiles {
  readonly files: readonly FileToUpload[];
  /** The paths of folders without content. */
  readonly emptyFolders: readonly string[];
  /** The paths of unreadable items, relative to the drop. */
  readonly unreadable: readonly string[];
}

/** Reads dropped folders. Supports several drops at a time. */
export class DroppedFolderReader {
  /** The number of files found by each drop that is being read. */
  readonly #counts = signal<ReadonlyMap<DroppedItems, number>>(new Map());
  /** The number of files found so far in all drops that are being read; null before the first is found. */
  readonly filesFound: ReadonlySignal<number | null> = computed(() => {
    const counts = this.#counts.value;
    return counts.size > 0 ? [...counts.values()].reduce((sum, count) => sum + count, 0) : null;
  });

  /** Returns the files of a drop, as files in `folder`. Never throws. */
  async read(dropped: DroppedItems, folder: string): Promise<FoundFiles> {
    const files = dropped.files.map((file) => ({ file, folder, name: file.name }));
    const found: Found = { files, emptyFolders: [], unreadable: [] };
    const onFound = () => {
      this.#counts.value = new Map(this.#counts.value).set(dropped, found.files.length);
    };
    for (const { entry, handle } of dropped.entries) {
      const root = await handle?.catch(() => null);
      await readEntry(entry, { folder, source: root ? { root, path: [] } : undefined }, found, onFound);
    }
    this.#counts.value = new Map([...this.#counts.value].filter(([other]) => other !== dropped));
    return found;
  }
}

interface Found {
  readonly files: FileToUpload[];
  readonly emptyFolders: string[];
  readonly unreadable: string[];
}

/** The destination folder of an entry, and where to read the entry again. */
interface EntryContext {
  readonly folder: string;
  readonly source: FileSource | undefined;
}

/** Adds a file, or all files in a folder, to `found`. */
async function readEntry(
  entry: FileSystemEntry,
  { folder, source }: EntryContext,
  found: Found,
  onFound: () => void,
): Promise<void> {
  try {
    const { name } = entry;
    if (isDirectory(entry)) await readFolder(entry, { folder: `${folder}${name}/`, source }, found, onFound);
    else if (isFile(entry)) found.files.push({ file: await fileOf(entry), folder, name, source });
  } catch {
    found.unreadable.push(entry.fullPath.replace(/^\//, ''));
  }
}

async function readFolder(
  directory: FileSystemDirectoryEntry,
  { folder, source }: EntryContext,
  found: Found,
  onFound: () => void,
): Promise<void> {
  const batches: FileSystemEntry[][] = [];
  const reader = directory.createReader();
  // A reader returns about a hundred entries at a time, and none at the end. If it fails, the folder is not uploaded in
  // part, so all batches are read before the first file.
  for (let entries = await entriesOf(reader); entries.length > 0; entries = await entriesOf(reader)) {
    batches.push(entries);
  }
  if (batches.length === 0) found.emptyFolders.push(folder);
  const contextOf = ({ name }: FileSystemEntry): EntryContext => ({
    folder,
    source: source && { ...source, path: [...source.path, name] },
  });
  for (const entries of batches) {
    await Promise.all(entries.filter(isFile).map((entry) => readEntry(entry, contextOf(entry), found, onFound)));
    onFound();
    for (const entry of entries.filter(isDirectory)) await readEntry(entry, contextOf(entry), found, onFound);
  }
}

const isDirectory = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;
const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

function entriesOf(reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> {
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject));
}
