import {
  access,
  type BigIntStats,
  close,
  constants,
  fdatasync,
  fstat,
  fsync,
  ftruncate,
  lstat,
  mkdir,
  open,
  opendir,
  read,
  readdir,
  readlink,
  rename,
  write,
  writev,
} from 'node:fs';
import { promisify } from 'node:util';
import { systemErrorCode } from '../../model/error.ts';
import type { MaybePromise } from './blocking-budget.ts';

/** A name in a folder, with its type. */
export interface NamedEntry {
  readonly name: Buffer;
  isFile(): boolean;
  isDirectory(): boolean;
}

/**
 * The system calls that requests use. Open files are file descriptors, which the caller must close. Errors are those of
 * Node.js, with an errno code.
 */
export interface Syscalls {
  open(path: string, flags: number): MaybePromise<number>;
  /** Creates a file and opens it for writing. Throws EEXIST if it exists. */
  create(path: string): MaybePromise<number>;
  close(file: number): MaybePromise<void>;
  statOpen(file: number): MaybePromise<BigIntStats>;
  /** Returns the stats of a path without following a symbolic link; undefined if it does not exist. */
  find(path: string): MaybePromise<BigIntStats | undefined>;
  /** Returns the result of `find` for each path, in the same order. */
  findAll(paths: readonly string[]): MaybePromise<(BigIntStats | undefined)[]>;
  /**
   * Returns for each path, in the same order, whether the process can read the file: access(2). False if that is uncertain,
   * because access(2) ignores the effective user.
   */
  areReadable(paths: readonly string[]): MaybePromise<boolean[]>;
  readLink(path: string): MaybePromise<string>;
  /** Reads from `position` until the buffer is full or the file ends. Returns the number of bytes. */
  read(file: number, buffer: Buffer, position: number): MaybePromise<number>;
  /** Passes each entry of a folder to `visit`, unordered. `isLarge`: reading takes long even if it is cached. */
  readFolder(path: string, options: { isLarge: boolean }, visit: (entry: NamedEntry) => void): MaybePromise<void>;
  makeFolder(path: string): MaybePromise<void>;
  rename(from: string, to: string): MaybePromise<void>;
  /** Appends a small number of bytes. */
  write(file: number, bytes: Buffer): MaybePromise<void>;
  /** Appends all chunks. Always runs in the thread pool. */
  writeMany(file: number, chunks: Buffer[]): Promise<void>;
  truncate(file: number, size: number): Promise<void>;
  /** Makes the content of a file durable: fdatasync(2). */
  syncBytes(file: number): Promise<void>;
  /** Makes the names in a folder durable: fsync(2). */
  syncFolder(folder: number): Promise<void>;
}

/** Options of `readdir`: names as bytes, because they need not be UTF-8, with their types. */
export const NAMED_ENTRIES = { withFileTypes: true, encoding: 'buffer' } as const;

/** Mode of new files, before the umask of the process. */
export const NEW_FILE_MODE = 0o666;

/** The properties of a disk that determine how system calls run. */
export interface DiskTraits {
  /**
   * Whether the disk belongs to this machine. Calls to another machine might never return, so they must not block the
   * process.
   */
  readonly isLocal: boolean;
  /** Size of libuv's thread pool. At most half of the threads read at a time, and at most half change files. */
  readonly threads: number;
}

/** The functions of `node:fs` that run in the thread pool. */
const threadpool = {
  access: promisify(access),
  open: promisify(open),
  close: promisify(close),
  stat: promisify(fstat),
  lstat: promisify(lstat),
  readlink: promisify(readlink),
  read: promisify(read),
  readdir: promisify(readdir),
  opendir: promisify(opendir),
  mkdir: promisify(mkdir),
  rename: promisify(rename),
  write: promisify(write),
  writev: promisify(writev),
  fdatasync: promisify(fdatasync),
  fsync: promisify(fsync),
  ftruncate: promisify(ftruncate),
};

const BIGINT = { bigint: true } as const;

/** Returns whether the user of the process, which access(2) examines, is the one whose permissions other calls have. */
export const isEffectiveUser = (): boolean => process.getuid?.() === process.geteuid?.();

/** Returns system calls that run in libuv's thread pool. */
export function createThreadpoolSyscalls({ isLocal, threads }: DiskTraits): Syscalls {
  const limitRead = createLimiter(threads >>> 1);
  const limitChange = createLimiter(threads >>> 1);
  const find = (path: string): Promise<BigIntStats | undefined> =>
    limitRead(() =>
      threadpool.lstat(path, BIGINT).catch((error: unknown) => {
        if (systemErrorCode(error) === 'ENOENT') return undefined;
        throw error;
      }),
    );
  const isReadable = async (path: string): Promise<boolean> =>
    isEffectiveUser() &&
    limitRead(() =>
      threadpool.access(path, constants.R_OK).then(
        () => true,
        () => false,
      ),
    );
  return {
    find,
    findAll: (paths) => Promise.all(paths.map(find)),
    areReadable: (paths) => Promise.all(paths.map(isReadable)),
    open: (path, flags) => limitRead(() => threadpool.open(path, flags)),
    close: (file) => threadpool.close(file),
    statOpen: (file) => limitRead(() => threadpool.stat(file, BIGINT)),
    readLink: (path) => limitRead(() => threadpool.readlink(path)),
    read: (file, buffer, position) => limitRead(() => readFull(file, buffer, position)),
    // Reading in parts avoids holding all names in memory twice. Not on network file systems: these might not report
    // types with the names, and `Dir` then looks up each type synchronously.
    readFolder: (path, { isLarge }, visit) =>
      limitRead(async () => {
        if (isLarge && isLocal) for await (const entry of await openInParts(path)) visit(entry);
        else for (const entry of await threadpool.readdir(path, NAMED_ENTRIES)) visit(entry);
      }),
    create: (path) => limitChange(() => threadpool.open(path, 'wx', NEW_FILE_MODE)),
    makeFolder: (path) => limitChange(() => threadpool.mkdir(path)),
    rename: (from, to) => limitChange(() => threadpool.rename(from, to)),
    write: (file, bytes) => limitChange(() => writeFull(file, bytes)),
    writeMany: (file, chunks) => limitChange(() => writeAll(file, chunks)),
    truncate: (file, size) => limitChange(() => threadpool.ftruncate(file, size)),
    syncBytes: (file) => limitChange(() => threadpool.fdatasync(file)),
    syncFolder: (folder) => limitChange(() => threadpool.fsync(folder)),
  };
}

/**
 * Opens a folder for reading in parts. The casts are needed because the types of Node.js don't know that `opendir` can
 * return names as bytes.
 */
async function openInParts(path: string): Promise<AsyncIterable<NamedEntry>> {
  // Each part is a round trip to a thread. With the default of 32 names, a million names take four times as long.
  const names = { encoding: 'buffer' as BufferEncoding, bufferSize: 512 };
  return (await threadpool.opendir(path, names)) as AsyncIterable<unknown> as AsyncIterable<NamedEntry>;
}

async function readFull(file: number, buffer: Buffer, position: number): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await threadpool.read(file, buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

async function writeFull(file: number, bytes: Buffer): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += (await threadpool.write(file, bytes, written)).bytesWritten;
}

async function writeAll(file: number, chunks: Buffer[]): Promise<void> {
  let size = 0;
  for (const chunk of chunks) size += chunk.length;
  let { bytesWritten } = await threadpool.writev(file, chunks);
  if (bytesWritten === size) return;
  // The write was short, for example because the disk is nearly full. Writing the rest then throws the reason.
  for (const chunk of chunks) {
    if (bytesWritten < chunk.length) await writeFull(file, chunk.subarray(bytesWritten));
    bytesWritten = Math.max(0, bytesWritten - chunk.length);
  }
}

/** Runs a call as soon as fewer calls than the limit are in progress. */
export type Limiter = <Result>(call: () => Promise<Result>) => Promise<Result>;

/** Creates a concurrency limit of `count` calls, at least 1. Others wait in the order of their arrival. */
export function createLimiter(count: number): Limiter {
  const waiting: (() => void)[] = [];
  let free = Math.max(1, count);
  return async (call) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await call();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
