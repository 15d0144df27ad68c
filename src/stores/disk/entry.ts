import type { BigIntStats } from 'node:fs';
import { mediaTypeOf } from '../../model/media-type.ts';
import { type FilePath, nameOf } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';

/**
 * Describes a file by its stats. The etag joins what changes with the bytes: each write makes a new inode, and a change in
 * place by another program a new time (in nanoseconds) or size. The time of birth, which no program can set, tells two
 * files apart that had the same inode number one after the other, and the same size and time from their uploader. File
 * systems keep no media type, so the name determines it.
 */
export function entryOf(path: FilePath, stats: BigIntStats): FileEntry {
  const size = Number(stats.size);
  const etag = [stats.ino, stats.size, stats.mtimeNs, stats.birthtimeNs].map((each) => each.toString(36)).join('-');
  const modified = dateOf(stats.mtimeNs);
  const type = mediaTypeOf(nameOf(path));
  // A time before the file's birth was set by a program, and one long before `ctime` is older than the file's last move.
  const isOfWriting = stats.mtimeNs >= stats.birthtimeNs && isShortlyBefore(stats.mtimeNs, stats.ctimeNs);
  const changed = isOfWriting ? {} : { changed: dateOf(stats.ctimeNs) };
  return { kind: 'file', path, size, etag, modified, ...changed, type };
}

/** Returns the millisecond of a time in nanoseconds, which are negative before 1970. */
export function dateOf(nanoseconds: bigint): Date {
  return new Date(Number((nanoseconds - (nanoseconds < 0n ? NS_PER_MS - 1n : 0n)) / NS_PER_MS));
}

const NS_PER_MS = 1_000_000n;

/** Nanoseconds between the last byte of a file and its renaming, in which it is made durable: a slow disk takes seconds. */
const LONGEST_SYNC = 60_000_000_000n;

const isShortlyBefore = (one: bigint, other: bigint) => one <= other && other - one <= LONGEST_SYNC;
