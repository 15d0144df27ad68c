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
import { errorCode } from '../../model/error.ts';
import { NAMED, type NamedEntry, NEW_FILE, type Syscalls } from './syscalls.ts';

/** A disk, and the threads that wait for it. */
export interface DiskTraits {
  /** Whether the files are on a disk of this machine. Another machine may never answer, and so is not waited for. */
  readonly isLocal: boolean;
  /** The threads that the process has: half of them may read at once, and half of them change something. */
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

/** The calls, each left to one of the threads of the process. */
export function createThreadpoolSyscalls({ isLocal, threads }: DiskTraits): Syscalls {
  const toRead = createLimiter(threads >>> 1);
  const toChange = createLimiter(threads >>> 1);
  const lookUp = (path: string): Promise<BigIntStats | undefined> =>
    toRead(() =>
      aside.lstat(path, BIG).catch((error: unknown) => {
        if (errorCode(error) === 'ENOENT') return undefined;
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
    // In parts, so that not all are in memory twice; not on other machines, where what a name is of may have to be asked
    // for one by one, which `Dir` does on the spot.
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

/** Reads a folder in parts of some names. The types of Node lack that names may be bytes here as well. */
async function openInParts(path: string): Promise<AsyncIterable<NamedEntry>> {
  // A part is a round trip to a thread. By default it has 32 names, and a million names take four times as long.
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
  // A disk that is about to be full took a part of it: what is left tells the reason.
  for (const chunk of chunks) {
    if (bytesWritten < chunk.length) await writeFull(file, chunk.subarray(bytesWritten));
    bytesWritten = Math.max(0, bytesWritten - chunk.length);
  }
}

/** Makes a call as soon as fewer than so many others are under way. */
export type Limiter = <Result>(call: () => Promise<Result>) => Promise<Result>;

/** Lanes for `count` calls at once; the others wait in their order. */
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
