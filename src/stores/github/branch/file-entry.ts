import { mediaTypeOf } from '../../../domain/media-type.ts';
import type { FilePath } from '../../../domain/path.ts';
import type { FileEntry } from '../../../domain/store.ts';
import type { TreeEntry } from './objects.ts';

/** What is known of a file. Git keeps neither its type nor when it was written. */
export function fileEntry(path: FilePath, { sha, size }: Pick<TreeEntry, 'sha' | 'size'>): FileEntry {
  return { kind: 'file', path, size, etag: sha, modified: null, type: mediaTypeOf(path) };
}
