import { type BigIntStats, constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, open, stat, utimes } from 'node:fs/promises';
import { systemErrorCode } from '../../model/error.ts';
import { type FilePath, nameOf } from '../../model/path.ts';
import { mediaTypeOf } from '../../model/presentation.ts';
import type { FileEntry } from '../../model/store.ts';
import { readAttributes } from './extended-attributes.ts';
import { fdPath } from './folder.ts';
import { copyPermissions } from './permissions.ts';

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
  const isTimeOfWrite = stats.mtimeNs >= stats.birthtimeNs && isShortlyBefore(stats.mtimeNs, stats.ctimeNs);
  const changed = isTimeOfWrite ? {} : { changed: dateOf(stats.ctimeNs) };
  return { kind: 'file', path, size, etag, modified, ...changed, type };
}

/** Returns whether two stats are of the same file or folder, perhaps under two names. */
export const isSameInode = (left: BigIntStats | undefined, right: BigIntStats): boolean =>
  left?.ino === right.ino && left.dev === right.dev;

/** Returns the date of a time in nanoseconds, rounded down to milliseconds. Times before 1970 are negative. */
export function dateOf(nanoseconds: bigint): Date {
  return new Date(Number((nanoseconds - (nanoseconds < 0n ? NS_PER_MS - 1n : 0n)) / NS_PER_MS));
}

const NS_PER_MS = 1_000_000n;

/**
 * Maximum nanoseconds between the last write to a file and its rename. The sync between them takes seconds on slow
 * disks.
 */
const MAX_SYNC_DURATION_NS = 60_000_000_000n;

const isShortlyBefore = (one: bigint, other: bigint) => one <= other && other - one <= MAX_SYNC_DURATION_NS;

/** Maximum milliseconds by which file systems round times: FAT stores even seconds. */
const MAX_ROUNDING_MS = 2_000;

/**
 * Sets the modification time of a temporary file and returns its stats. The file keeps its own time if the file system
 * can't store the requested one. For example, ext4 replaces years after 2446 by 2446.
 */
export async function setModified(
  { path, stats }: { path: string; stats: BigIntStats },
  modified: Date,
): Promise<BigIntStats> {
  // Without birth times (NFS, some FUSE drivers), files with equal size and time could get equal ETags. A random
  // fraction of a millisecond distinguishes them.
  const fraction = stats.birthtimeNs === 0n ? Math.random() * 0.9 : undefined;
  await ignoreUnsupported(setTimes(path, modified, fraction));
  const dated = await lstat(path, { bigint: true });
  const difference = dateOf(dated.mtimeNs).getTime() - modified.getTime();
  if (Math.abs(difference) <= MAX_ROUNDING_MS || dated.mtimeNs === stats.mtimeNs) return dated;
  await setTimes(path, dateOf(stats.mtimeNs));
  return lstat(path, { bigint: true });
}

/**
 * Sets the modification time of an open file, if the file system permits it, and returns its stats. Another program can
 * change the content in place between two equal times, so a random fraction of a millisecond makes each ETag a new one.
 */
export async function touch(
  { fd, path }: { readonly fd: number; readonly path: string },
  modified: Date,
): Promise<BigIntStats> {
  const opened = fdPath(fd, path);
  await ignoreUnsupported(setTimes(opened, modified, Math.random() * 0.9));
  return stat(opened, { bigint: true });
}

/**
 * Sets the modification time with a precision of one millisecond. Node.js passes times as floating-point seconds, which
 * the system truncates: adding 0.05 ms keeps 0.123 from becoming 0.122. The time is a string, because Node.js does not
 * support negative numbers (times before 1970).
 */
function setTimes(file: string | FileHandle, modified: Date, fraction?: number): Promise<void> {
  const milliseconds = modified.getTime();
  const seconds = String((milliseconds + (fraction ?? (milliseconds % 1000 === 0 ? 0 : 0.05))) / 1000);
  return typeof file === 'string' ? utimes(file, new Date(), seconds) : file.utimes(new Date(), seconds);
}

/**
 * Waits for a change of file times. Ignores the error of file systems that don't support it, such as some FUSE drivers.
 */
async function ignoreUnsupported(change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!TIMES_UNSUPPORTED.has(systemErrorCode(error) ?? '')) throw error;
  }
}

const TIMES_UNSUPPORTED = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL', 'EOVERFLOW']);

/**
 * Copies an open file with its metadata, except the owner, and makes the copy durable. `group` replaces its group. Copies from
 * its path on systems without paths of file descriptors. Returns the stats of the copy.
 */
export async function copyOpenFile(
  { fd, path, stats }: { readonly fd: number; readonly path: string; readonly stats: BigIntStats },
  target: string,
  group?: bigint,
): Promise<BigIntStats> {
  await copyContent(fd, path, stats, target);
  await copyPermissions(target, { stats, attributes: await readAttributes(fd) }, group);
  await using copy = await open(target, 'r');
  await ignoreUnsupported(setTimes(copy, dateOf(stats.mtimeNs)));
  await copy.datasync();
  return copy.stat({ bigint: true });
}

/** Copies the bytes of an open file. A sparse file, with fewer blocks than bytes, stays sparse. */
async function copyContent(
  fd: number,
  path: string,
  { blocks, size, mode }: BigIntStats,
  target: string,
): Promise<void> {
  const isSparse = blocks * 512n < size;
  try {
    return await copyFile(fdPath(fd, path), target, isSparse ? REFLINK_MODE : COPY_MODE);
  } catch (error) {
    if (!isSparse || !REFLINKS_REFUSED.has(systemErrorCode(error) ?? '')) throw error;
  }
  await using source = await open(fdPath(fd, path), 'r');
  await using copy = await open(target, 'wx', Number(mode) & 0o777);
  const chunk = Buffer.alloc(SPARSE_CHUNK_BYTES);
  let position = 0;
  for (;;) {
    const { bytesRead } = await source.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) break;
    const bytes = chunk.subarray(0, bytesRead);
    if (!bytes.equals(ZEROS.subarray(0, bytesRead))) await writeAll(copy, bytes, position);
    position += bytesRead;
  }
  await copy.truncate(position);
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await file.write(bytes, written, bytes.length - written, position + written)).bytesWritten;
  }
}

/** Bytes that a copy of a sparse file omits together if all of them are zero. */
const SPARSE_CHUNK_BYTES = 64 * 1024;
const ZEROS = Buffer.alloc(SPARSE_CHUNK_BYTES);

const REFLINK_MODE = constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL;
const REFLINKS_REFUSED = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EINVAL', 'ENOTTY']);

/** Shares blocks if the file system supports it (reflink) and copies bytes otherwise. Fails if the target exists. */
const COPY_MODE = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL;
