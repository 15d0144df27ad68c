/*
 * Handles of files on the device (File System Access API), which a page can store, so that it can read the same files
 * after a reload. Only Chromium has all of it, and only on secure origins: elsewhere, the user chooses the files again.
 */

import { pickFiles } from './file-picker.ts';

declare global {
  interface FileSystemHandle {
    queryPermission?(descriptor: { readonly mode: 'read' }): Promise<PermissionState>;
    requestPermission?(descriptor: { readonly mode: 'read' }): Promise<PermissionState>;
  }
  interface DataTransferItem {
    getAsFileSystemHandle?(): Promise<FileSystemHandle | null>;
  }
  interface Window {
    showOpenFilePicker?(options: { readonly multiple: boolean }): Promise<readonly FileSystemFileHandle[]>;
  }
}

/** A file on the device that can be read again after a reload. */
export interface FileSource {
  /** The file or folder that the user chose. Its permission applies to everything in it. */
  readonly root: FileSystemHandle;
  /** The names of the folders from the chosen one to the file, and of the file; empty for a chosen file. */
  readonly path: readonly string[];
}

/** Opens a file. Throws a `DOMException` if it no longer exists, or if the page may not read it. */
export async function openSource({ root, path }: FileSource): Promise<File> {
  let handle = root;
  for (const [index, name] of path.entries()) {
    if (!isDirectory(handle)) break;
    handle = index === path.length - 1 ? await handle.getFileHandle(name) : await handle.getDirectoryHandle(name);
  }
  if (isFile(handle)) return handle.getFile();
  throw new DOMException('The path leads to a folder.', 'TypeMismatchError');
}

/** Returns whether the page may read a chosen file or folder without asking. */
export async function isReadable(root: FileSystemHandle): Promise<boolean> {
  return (await root.queryPermission?.({ mode: 'read' })) !== 'prompt';
}

/** Asks the user for the permission to read a chosen file or folder. Must be called during the event of an input. */
export async function requestRead(root: FileSystemHandle): Promise<boolean> {
  try {
    return (await root.requestPermission?.({ mode: 'read' })) !== 'denied';
  } catch {
    // The input is too long ago, or the file system is gone.
    return false;
  }
}

/** A file that the user chose. */
export interface PickedFile {
  readonly file: File;
  /** Undefined if the browser returns no handles. */
  readonly source: FileSource | undefined;
}

/**
 * Opens the browser's picker for files. Their sources are known if the browser has a picker that returns handles, and allows
 * this page to use it. Folders are not picked this way: Chromium's picker rejects usual ones, such as "Downloads".
 */
export function pickWithHandles(onPicked: (files: readonly PickedFile[]) => void): void {
  const pickWithout = () => pickFiles('files', (files) => onPicked(files.map((file) => ({ file, source: undefined }))));
  if (!window.showOpenFilePicker) return pickWithout();
  window
    .showOpenFilePicker({ multiple: true })
    .then((handles) =>
      Promise.all(handles.map(async (root) => ({ file: await root.getFile(), source: { root, path: [] } }))),
    )
    .then(onPicked, (error: unknown) => {
      const isClosed = error instanceof DOMException && error.name === 'AbortError';
      if (!isClosed) pickWithout();
    });
}

const isDirectory = (handle: FileSystemHandle): handle is FileSystemDirectoryHandle => handle.kind === 'directory';
const isFile = (handle: FileSystemHandle): handle is FileSystemFileHandle => handle.kind === 'file';
