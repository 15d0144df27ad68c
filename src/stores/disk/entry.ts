import type { BigIntStats } from 'node:fs';
import { mediaTypeOf } from '../../model/media-type.ts';
import { type FilePath, nameOf } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';

/**
 * Returns the entry of a file, from its stats. The ETag combines the attributes that change with the content. Each
 * write by Holdall creates a new inode; a change in place by another program changes the modification time
 * (nanoseconds) or size. The birth time, which no program can set, distinguishes files that reuse an inode number and
 * have equal size and time. The media type is derived from the name, because file systems don't store one.
 */
export function entryOf(path: FilePath, stats: BigIntStats): FileEntry {
  const size = Number(stats.size);
  const etag = [stats.ino, stats.size, stats.mtimeNs, stats.birthtimeNs].map((each) => each.toString(36)).join('-');
  const modified = dateOf(stats.mtimeNs);
  const type = mediaTypeOf(nameOf(path));
  // A modification time before the birth time was set by a program. One long before `ctime` is older than the last
  // rename or other metadata change.
  const isOfWriting = stats.mtimeNs >= stats.birthtimeNs && isShortlyBefore(stats.mtimeNs, stats.ctimeNs);
  const changed = isOfWriting ? {} : { changed: dateOf(stats.ctimeNs) };
  return { kind: 'file', path, size, etag, modified, ...changed, type };
}

/** Returns the date of a time in nanoseconds, rounded down to milliseconds. Times before 1970 are negative. */
export function dateOf(nanoseconds: bigint): Date {
  return new Date(Number((nanoseconds - (nanoseconds < 0n ? NS_PER_MS - 1n : 0n)) / NS_PER_MS));
}

const NS_PER_MS = 1_000_000n;

/**
 * Maximum nanoseconds between the last write to a file and its rename. The sync between them takes seconds on slow
 * disks.
 */
const LONGEST_SYNC = 60_000_000_000n;

const isShortlyBefore = (one: bigint, other: bigint) => one <= other && other - one <= LONGEST_SYNC;
