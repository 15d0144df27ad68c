import {
  type BigIntStats,
  close,
  fdatasync,
  fstat,
  fsync,
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
import { NAMED, type NamedEntry, NEW_FILE, type Syscalls } from './syscalls.ts';

/** The properties of a disk that determine how system calls run. */
export interface DiskTraits {
  /**
   * Whether the disk belongs to this machine. Calls to another machine may never return, so they must not block the
   * process.
   */
  readonly isLocal: boolean;
  /** Size of libuv's thread pool. At most half of the threads read at a time, and at most half change files. */
  readonly threads: number;
}

const aside = {
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
};

const BIG = { bigint: true } as const;

/** Returns system calls that run in libuv's thread pool. */
export function createThreadpoolSyscalls({ isLocal, threads }: DiskTraits): Syscalls {
  const toRead = createLimiter(threads >>> 1);
  const toChange = createLimiter(threads >>> 1);
  const lookUp = (path: string): Promise<BigIntStats | undefined> =>
    toRead(() =>
      aside.lstat(path, BIG).catch((error: unknown) => {
        if (systemErrorCode(error) === 'ENOENT') return undefined;
        throw error;
      }),
    );
  return {
    lookUp,
    lookUpAll: (paths) => Promise.all(paths.map(lookUp)),
    open: (path, flags) => toRead(() => aside.open(path, flags)),
    close: (file) => aside.close(file),
    statOpen: (file) => toRead(() => aside.stat(file, BIG)),
    readLink: (path) => toRead(() => aside.readlink(path)),
    read: (file, buffer, position) => toRead(() => readFull(file, buffer, position)),
    // Reading in parts avoids holding all names in memory twice. Not on network file systems: these may not report
    // types with the names, and `Dir` then looks up each type synchronously.
    readFolder: (path, { isLarge }, take) =>
      toRead(async () => {
        if (isLarge && isLocal) for await (const entry of await openInParts(path)) take(entry);
        else for (const entry of await aside.readdir(path, NAMED)) take(entry);
      }),
    create: (path) => toChange(() => aside.open(path, 'wx', NEW_FILE)),
    makeFolder: (path) => toChange(() => aside.mkdir(path)),
    rename: (from, to) => toChange(() => aside.rename(from, to)),
    write: (file, bytes) => toChange(() => writeFull(file, bytes)),
    writeMany: (file, chunks) => toChange(() => writeAll(file, chunks)),
    syncBytes: (file) => toChange(() => aside.fdatasync(file)),
    syncFolder: (folder) => toChange(() => aside.fsync(folder)),
  };
}

/**
 * Opens a folder for reading in parts. The casts are needed because the types of Node.js don't know that `opendir` can
 * return names as bytes.
 */
async function openInParts(path: string): Promise<AsyncIterable<NamedEntry>> {
  // Each part is a round trip to a thread. With the default of 32 names, a million names take four times as long.
  const names = { encoding: 'buffer' as BufferEncoding, bufferSize: 512 };
  return (await aside.opendir(path, names)) as AsyncIterable<unknown> as AsyncIterable<NamedEntry>;
}

async function readFull(file: number, buffer: Buffer, position: number): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await aside.read(file, buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

async function writeFull(file: number, bytes: Buffer): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += (await aside.write(file, bytes, written)).bytesWritten;
}

async function writeAll(file: number, chunks: Buffer[]): Promise<void> {
  let size = 0;
  for (const chunk of chunks) size += chunk.length;
  let { bytesWritten } = await aside.writev(file, chunks);
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
