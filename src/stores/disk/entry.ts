import type { BigIntStats } from 'node:fs';
import { mediaTypeOf } from '../../domain/media-type.ts';
import { type FilePath, nameOf } from '../../domain/path.ts';
import type { FileEntry } from '../../domain/store.ts';

/**
 * What the file system tells of a file. The etag joins what changes with the bytes: each write makes a new
 * inode, a change in place by another program a new time (in nanoseconds) or size. File systems keep no media
 * type, so it is the one that the name tells.
 */
export function entryOf(path: FilePath, stats: BigIntStats): FileEntry {
  const size = Number(stats.size);
  const etag = `${stats.ino.toString(36)}-${size.toString(36)}-${stats.mtimeNs.toString(36)}`;
  const modified = new Date(Number(stats.mtimeMs));
  return { kind: 'file', path, size, etag, modified, type: mediaTypeOf(nameOf(path)) };
}
