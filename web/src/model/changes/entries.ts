import { nameOf } from '../../platform/paths.ts';
import type { Entry, FolderEntry } from '../../platform/service/service.ts';

/** An entry as it is to be at another path, where the service has not put it yet: without an etag. */
export function entryToBeAt(path: string, entry: Entry): Entry {
  return { ...entryAt(path, entry), ...(entry.type === 'file' && { etag: '' }) };
}

/** An entry as it is at another path. */
export function entryAt(path: string, entry: Entry): Entry {
  return { ...entry, path, name: nameOf(path) };
}

/** All that there is to know of a folder. */
export function folderEntry(path: string): FolderEntry {
  return { type: 'folder', path, name: nameOf(path) };
}
