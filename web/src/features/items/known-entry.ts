import { nameOf } from '../../platform/paths.ts';
import { folderEntry } from '../../platform/service/pages.ts';
import type { Entry } from '../../platform/service/service.ts';

interface KnownProperties extends Pick<Entry, 'type' | 'path'> {
  readonly size?: number | undefined;
}

/** Returns the entry of a file or folder of which only these properties are known. */
export function knownEntry({ type, path, size = 0 }: KnownProperties): Entry {
  if (type === 'folder') return folderEntry(path);
  return { type, path, name: nameOf(path), size, modified: null, contentType: '', etag: '' };
}
