import { type BigIntStats, constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, open, rm, utimes } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { isStoreError, StoreError, systemErrorCode } from '../../model/error.ts';
import { type FilePath, nameOf, ROOT } from '../../model/path.ts';
import type { Cancellable, FileEntry, StagedUpload, Upload, WriteCondition } from '../../model/store.ts';
import { preconditionFailed, requireSize } from '../../model/store-errors.ts';
import { forEachChunk } from '../../streams/bodies.ts';
import { recyclerOf } from '../../streams/chunk-recycling.ts';
import { lookUpFile, renameToNew } from './atomic-rename.ts';
import type { MaybePromise } from './blocking-budget.ts';
import { dateOf, entryOf } from './entry.ts';
import { toStoreError } from './errors.ts';
import type { Root } from './root.ts';
import type { Syscalls } from './syscalls.ts';
import type { Temporary } from './temporary.ts';

type Conditional = { condition?: WriteCondition };

/** A durable temporary file with its stats. */
export interface Received {
  readonly path: string;
  readonly stats: BigIntStats;
}

/** Writes files atomically: to a temporary file, which is synced and then renamed. */
export interface Writer {
  write(file: FilePath, upload: Upload, options?: Conditional & Cancellable): Promise<FileEntry>;
  stage(upload: Pick<Upload, 'body'>, options?: Cancellable): Promise<StagedUpload>;
  /**
   * Throws the errors that `publish` would throw, before the body is read: `condition-failed`, `wrong-kind`,
   * `unsupported`.
   */
  requirePossible(file: FilePath, condition?: WriteCondition): Promise<void>;
  /**
   * Renames a durable temporary file to its final name, with the modification time `modified` if the file system can
   * hold that. Removes the temporary file in any case, also on failure.
   */
  publish(received: Received, file: FilePath, options?: Conditional & { modified?: Date }): Promise<FileEntry>;
}

export function createWriter(root: Root, temporary: Temporary): Writer {
  const calls = root.system.sync;

  const takeIn = async (
    body: Readable,
    { signal }: Cancellable = {},
    check?: (size: number) => void,
  ): Promise<Received> => {
    const { path, number } = await temporary.create();
    const giveUp = () => void body.destroy(signal?.reason);
    try {
      let stats: BigIntStats;
      try {
        if (signal?.aborted) giveUp();
        signal?.addEventListener('abort', giveUp);
        await receive(calls, number, body);
        stats = await calls.statOpen(number);
      } finally {
        signal?.removeEventListener('abort', giveUp);
        await calls.close(number);
      }
      check?.(Number(stats.size));
      return { path, stats };
    } catch (error) {
      body.destroy();
      await rm(path, { force: true });
      throw error;
    }
  };

  const publish: Writer['publish'] = async (received, file, { condition, modified } = {}) => {
    try {
      requireHonoured(condition);
      const dated = modified ? { ...received, stats: await setModified(received, modified) } : received;
      for (let attempt = 1; ; attempt++) {
        try {
          return await place(dated, file, condition);
        } catch (error) {
          // The folder was removed after it was opened. The next attempt creates it again.
          if (!isStoreError(error, 'not-found') || attempt === PLACE_ATTEMPTS) throw error;
        }
      }
    } catch (error) {
      await rm(received.path, { force: true });
      throw error;
    }
  };

  const place = async (
    { path: from, stats }: Received,
    file: FilePath,
    condition?: WriteCondition,
  ): Promise<FileEntry> => {
    await using folder = await root.makeParent(file);
    try {
      const present = await lookUpFile(folder, file);
      const to = folder.at(nameOf(file));
      if (condition === 'absent' && present) throw preconditionFailed(file);
      if (condition === 'absent') await renameToNew(from, to, file, temporary);
      else await folder.calls.rename(from, to);
      await folder.sync();
      return entryOf(file, stats);
    } catch (error) {
      throw systemErrorCode(error) === 'EEXIST' ? preconditionFailed(file, error) : toStoreError(error, file);
    }
  };

  const requirePossible: Writer['requirePossible'] = async (file, condition) => {
    requireHonoured(condition);
    try {
      await using folder = await root.openParent(file);
      const present = await lookUpFile(folder, file);
      if (condition === 'absent' && present) throw preconditionFailed(file);
    } catch (error) {
      const translated = toStoreError(error, file);
      // `publish` creates a missing folder.
      if (!isStoreError(translated, 'not-found')) throw translated;
    }
  };

  return {
    publish,
    requirePossible,

    async write(file, upload, { condition, signal } = {}) {
      const { body, size, maxSize = Number.POSITIVE_INFINITY } = upload;
      try {
        // For a small body, the check costs as much as writing the temporary file, and `publish` checks again.
        if (maxSize > SMALL || condition !== undefined) await requirePossible(file, condition);
        const received = await takeIn(body, { signal }, (actual) => requireSize(file, actual, size));
        return await publish(received, file, { condition, modified: upload.modified?.() });
      } catch (error) {
        body.destroy();
        throw toStoreError(error, file);
      }
    },

    async stage(upload, options) {
      const received = await takeIn(upload.body, options).catch((error: unknown) => {
        throw toStoreError(error, ROOT);
      });
      return {
        commit: (file, { modified }, publishOptions) =>
          publish(received, file, { ...publishOptions, modified: modified?.() }),
        abort: () => rm(received.path, { force: true }),
      };
    },
  };
}

/**
 * Copies an open file with its modification time, and makes the copy durable. Copies from `path` on systems without
 * paths of file descriptors. Returns the stats of the copy.
 */
export async function copyOpenFile(
  { number, stats }: { readonly number: number; readonly stats: BigIntStats },
  path: string,
  target: string,
): Promise<BigIntStats> {
  await copyFile(process.platform === 'linux' ? `/proc/self/fd/${number}` : path, target, COPY_MODE);
  await using copy = await open(target, 'r');
  await unlessUnsupported(setTimes(copy, dateOf(stats.mtimeNs)));
  await copy.datasync();
  return copy.stat({ bigint: true });
}

/** Maximum milliseconds by which file systems round times: FAT stores even seconds. */
const COARSEST_TIME_MS = 2_000;

/**
 * Sets the modification time of a temporary file and returns its stats. The file keeps its own time if the file system
 * can't store the requested one. For example, ext4 replaces years after 2446 by 2446.
 */
async function setModified({ path, stats }: Received, modified: Date): Promise<BigIntStats> {
  // Without birth times (NFS, some FUSE drivers), files with equal size and time could get equal ETags. A random
  // fraction of a millisecond distinguishes them.
  const fraction = stats.birthtimeNs === 0n ? Math.random() * 0.9 : undefined;
  await unlessUnsupported(setTimes(path, modified, fraction));
  const dated = await lstat(path, { bigint: true });
  const difference = dateOf(dated.mtimeNs).getTime() - modified.getTime();
  if (Math.abs(difference) <= COARSEST_TIME_MS || dated.mtimeNs === stats.mtimeNs) return dated;
  await setTimes(path, dateOf(stats.mtimeNs));
  return lstat(path, { bigint: true });
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
async function unlessUnsupported(setting: Promise<void>): Promise<void> {
  try {
    await setting;
  } catch (error) {
    if (!TIMES_UNSUPPORTED.has(systemErrorCode(error) ?? '')) throw error;
  }
}

const TIMES_UNSUPPORTED = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL', 'EOVERFLOW']);

/** Shares blocks if the file system supports it (reflink) and copies bytes otherwise. Fails if the target exists. */
const COPY_MODE = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL;

/** Maximum body size in bytes that is written to a temporary file without a prior check of the destination. */
const SMALL = 64 * 1024;

/** Maximum attempts to publish a file in a folder that other programs remove meanwhile. */
const PLACE_ATTEMPTS = 5;

function requireHonoured(condition: WriteCondition | undefined): void {
  if (condition === undefined || condition === 'absent') return;
  throw new StoreError(
    'unsupported-condition',
    "Files on disk can't be replaced under the condition of an etag: other programs could change them in between.",
  );
}

/** Maximum bytes that are queued while earlier ones are written. */
const WAITING = 1024 * 1024;

/** Maximum chunks that are queued: IOV_MAX, the limit of writev(2). */
const PIECES = 1024;

/**
 * Size in bytes up to which a file is written in one call at its end. The page cache accepts that many bytes in
 * microseconds.
 */
const FEW = 64 * 1024;

/**
 * Writes all of `body` to an open file and makes it durable. Chunks that arrive during a write are queued and written
 * together by the next one. Writes are therefore small for a slow client and large for a client faster than the disk.
 */
export async function receive(calls: Syscalls, file: number, body: Readable): Promise<void> {
  const output = createOutput(calls, file, recyclerOf(body));
  try {
    await forEachChunk(body, (piece) => output.add(piece));
  } finally {
    // The caller closes the file next, so no write may be in progress.
    await output.rest();
  }
  await output.finish();
  await calls.syncBytes(file);
}

interface Output {
  /**
   * Queues a chunk. Returns a promise if the queue is full, which resolves when it is written. Throws the error of
   * earlier chunks.
   */
  add(piece: Buffer): MaybePromise<void>;
  /** Resolves when no write is in progress. Never rejects. */
  rest(): Promise<void>;
  /** Writes the remaining chunks. Throws the error of earlier chunks. */
  finish(): Promise<void>;
}

function createOutput(calls: Syscalls, file: number, recycle: ((chunk: Buffer) => void) | undefined): Output {
  let waiting: Buffer[] = [];
  let size = 0;
  let total = 0;
  let writing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  const requireWritten = () => {
    if (failure) throw failure.error;
  };

  // No sync in between: a sync every 32 MiB made a file of 256 MiB take three times as long.
  const writeWaiting = async (): Promise<void> => {
    try {
      while (waiting.length > 0) {
        const pieces = waiting;
        waiting = [];
        size = 0;
        await calls.writeMany(file, pieces);
        if (recycle) for (const piece of pieces) recycle(piece);
      }
    } catch (error) {
      failure = { error };
    } finally {
      writing = undefined;
    }
  };

  return {
    add(piece) {
      requireWritten();
      waiting.push(piece);
      size += piece.length;
      total += piece.length;
      if (total > FEW) writing ??= writeWaiting();
      return size >= WAITING || waiting.length >= PIECES ? writing : undefined;
    },
    async rest() {
      await writing;
    },
    async finish() {
      requireWritten();
      if (waiting.length > 0) await calls.write(file, Buffer.concat(waiting));
    },
  };
}
