import { type BigIntStats, constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, open, rm, utimes } from 'node:fs/promises';
import { errorCode, isStoreError, StoreError } from '../../model/error.ts';
import { type FilePath, nameOf, ROOT } from '../../model/path.ts';
import type { Cancellable, FileEntry, Release, StagedUpload, Upload, WriteCondition } from '../../model/store.ts';
import { preconditionFailed, requireSize } from '../../model/store-errors.ts';
import { forEachChunk } from '../../streams/bodies.ts';
import { lookUpFile, renameToNew } from './atomic-rename.ts';
import type { MaybePromise } from './blocking-budget.ts';
import { dateOf, entryOf } from './entry.ts';
import { toStoreError } from './errors.ts';
import type { Root } from './root.ts';
import type { Syscalls } from './syscalls.ts';
import type { Temporary } from './temporary.ts';

type Conditional = { condition?: WriteCondition };

/** A durable temporary file, and what is known of it. */
export interface Received {
  readonly path: string;
  readonly stats: BigIntStats;
}

/** The writing of files: into a temporary file, made durable, and then given its name in one step. */
export interface Writer {
  write(file: FilePath, upload: Upload, options?: Conditional & Cancellable): Promise<FileEntry>;
  stage(upload: Pick<Upload, 'body' | 'release'>, options?: Cancellable): Promise<StagedUpload>;
  /** Finds before the first byte is taken what would refuse the last. */
  requirePossible(file: FilePath, condition?: WriteCondition): Promise<void>;
  /**
   * Renames a durable temporary file to its final name, with the modification time `modified` if the file system can
   * hold that. The file is gone from `temporary` afterwards, also on failure.
   */
  publish(received: Received, file: FilePath, options?: Conditional & { modified?: Date }): Promise<FileEntry>;
}

export function createWriter(root: Root, temporary: Temporary): Writer {
  const calls = root.system.sync;

  const takeIn = async (
    { body, release }: Pick<Upload, 'body' | 'release'>,
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
        await receive(calls, number, { body, release });
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
          // The folder was removed after it was opened: it is made anew.
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
      if (condition === 'absent') await renameToNew(from, to, temporary);
      else await folder.calls.rename(from, to);
      await folder.sync();
      return entryOf(file, stats);
    } catch (error) {
      throw errorCode(error) === 'EEXIST' ? preconditionFailed(file, error) : toStoreError(error, file);
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
      // The folder is made when the file is put in it.
      if (!isStoreError(translated, 'not-found')) throw translated;
    }
  };

  return {
    publish,
    requirePossible,

    async write(file, upload, { condition, signal } = {}) {
      const { body, release, size, sizeAtMost = Number.POSITIVE_INFINITY } = upload;
      try {
        // To take in a few bytes costs no more than to look twice, and what refuses them is found when they get their
        // name.
        if (sizeAtMost > SMALL || condition !== undefined) await requirePossible(file, condition);
        const received = await takeIn({ body, release }, { signal }, (actual) => requireSize(file, actual, size));
        return await publish(received, file, { condition, modified: upload.modified?.() });
      } catch (error) {
        body.destroy();
        throw toStoreError(error, file);
      }
    },

    async stage(upload, options) {
      const received = await takeIn(upload, options).catch((error: unknown) => {
        throw toStoreError(error, ROOT);
      });
      return {
        publish: (file, { modified }, publishOptions) =>
          publish(received, file, { ...publishOptions, modified: modified?.() }),
        discard: () => rm(received.path, { force: true }),
      };
    },
  };
}

/**
 * Copies an open file with its modification time, and makes the copy durable. Uses `path` where the system can't name
 * open files. Returns the stats of the copy.
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

/** Milliseconds by which file systems round times: FAT keeps even seconds. */
const COARSEST_TIME_MS = 2_000;

/**
 * Sets the modification time of a temporary file and returns its stats. The file keeps its own time where the file
 * system can't hold the other one: ext4, for example, replaces years after 2446 by that year.
 */
async function setModified({ path, stats }: Received, modified: Date): Promise<BigIntStats> {
  // Without a time of birth (NFS, some of FUSE), a fraction below a millisecond is what makes the etag differ.
  const fraction = stats.birthtimeNs === 0n ? Math.random() * 0.9 : undefined;
  await unlessUnsupported(setTimes(path, modified, fraction));
  const dated = await lstat(path, { bigint: true });
  const difference = dateOf(dated.mtimeNs).getTime() - modified.getTime();
  if (Math.abs(difference) <= COARSEST_TIME_MS || dated.mtimeNs === stats.mtimeNs) return dated;
  await setTimes(path, dateOf(stats.mtimeNs));
  return lstat(path, { bigint: true });
}

/**
 * Sets the modification time to the millisecond. Node.js passes times on as floating-point seconds, and the system cuts
 * them off: a twentieth of a millisecond on top keeps 0.123 from becoming 0.122. As numbers, Node.js does not take
 * times before 1970, but it does as text.
 */
function setTimes(file: string | FileHandle, modified: Date, fraction?: number): Promise<void> {
  const milliseconds = modified.getTime();
  const seconds = String((milliseconds + (fraction ?? (milliseconds % 1000 === 0 ? 0 : 0.05))) / 1000);
  return typeof file === 'string' ? utimes(file, new Date(), seconds) : file.utimes(new Date(), seconds);
}

/** Waits for the setting of times, which some file systems, such as some of FUSE, refuse. */
async function unlessUnsupported(setting: Promise<void>): Promise<void> {
  try {
    await setting;
  } catch (error) {
    if (!TIMES_UNSUPPORTED.has(errorCode(error) ?? '')) throw error;
  }
}

const TIMES_UNSUPPORTED = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL', 'EOVERFLOW']);

/** Sharing the blocks where the file system can, else byte by byte. */
const COPY_MODE = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL;

/** Bytes of a form whose file is taken in before it is known whether it can be stored. */
const SMALL = 64 * 1024;

/** How often a folder that vanishes again and again is made for a file that is to go in it. */
const PLACE_ATTEMPTS = 5;

function requireHonoured(condition: WriteCondition | undefined): void {
  if (condition === undefined || condition === 'absent') return;
  throw new StoreError(
    'unsupported',
    "Files on disk can't be replaced under the condition of an etag: other programs could change them in between.",
  );
}

/** Bytes that wait at the most while what came before them is written. */
const WAITING = 1024 * 1024;

/** Pieces that do: as many as writev(2) takes. */
const PIECES = 1024;

/** Bytes of a small file, that the file system takes into memory in microseconds: they are written at its end. */
const FEW = 64 * 1024;

/**
 * Writes all of `body` to an open file, and makes it durable. What comes while something is written is written together
 * after it: little by little from a slow client, in large pieces from one that is quicker than the disk.
 */
export async function receive(
  calls: Syscalls,
  file: number,
  { body, release = () => {} }: Pick<Upload, 'body' | 'release'>,
): Promise<void> {
  const output = createOutput(calls, file, release);
  try {
    await forEachChunk(body, (piece) => output.add(piece));
  } finally {
    // Whoever closes the file must find it at rest.
    await output.rest();
  }
  await output.finish();
  await calls.syncBytes(file);
}

interface Output {
  /** Takes a piece in, when there is room for it. Throws what went wrong with those before it. */
  add(piece: Buffer): MaybePromise<void>;
  /** When nothing is under way any more, however it went. */
  rest(): Promise<void>;
  /** Writes what is left, or throws what went wrong. */
  finish(): Promise<void>;
}

function createOutput(calls: Syscalls, file: number, release: Release): Output {
  let waiting: Buffer[] = [];
  let size = 0;
  let total = 0;
  let writing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  const requireWritten = () => {
    if (failure) throw failure.error;
  };

  // To have the disk begin early, by syncing every 32 MiB, made 256 MiB take three times as long.
  const writeWaiting = async (): Promise<void> => {
    try {
      while (waiting.length > 0) {
        const pieces = waiting;
        waiting = [];
        size = 0;
        await calls.writeMany(file, pieces);
        for (const piece of pieces) release(piece);
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
