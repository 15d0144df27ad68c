import {
  type BigIntStats,
  close,
  closeSync,
  fdatasync,
  fstat,
  fstatSync,
  fsync,
  lstat,
  lstatSync,
  mkdir,
  mkdirSync,
  open,
  opendir,
  openSync,
  read,
  readdir,
  readdirSync,
  readlink,
  readlinkSync,
  readSync,
  rename,
  renameSync,
  write,
  writeSync,
  writev,
} from 'node:fs';
import { promisify } from 'node:util';
import { codeOf } from '../../domain/system-error.ts';
import { createLanes } from './lanes.ts';
import { createPace, type Soon } from './pace.ts';

/** A name in a folder, and what has it. */
export interface NamedEntry {
  readonly name: Buffer;
  isFile(): boolean;
  isDirectory(): boolean;
}

/**
 * The calls of the system that requests are made of. Open files are numbers, and whoever opens one closes it. Errors are
 * those of the system.
 */
export interface Calls {
  open(path: string, flags: number): Soon<number>;
  /** Opens a new file for writing. */
  create(path: string): Soon<number>;
  close(file: number): Soon<void>;
  statOpen(file: number): Soon<BigIntStats>;
  /** Links are not followed. Undefined where nothing has the name. */
  lookUp(path: string): Soon<BigIntStats | undefined>;
  /** As `lookUp`, for many. */
  lookUpAll(paths: readonly string[]): Soon<(BigIntStats | undefined)[]>;
  readLink(path: string): Soon<string>;
  /** Fills the buffer from `position` on, unless the file ends before, and says how many bytes that were. */
  read(file: number, buffer: Buffer, position: number): Soon<number>;
  /** Gives `take` all that is in a folder, in no order. `isLarge`: reading its names takes long even from memory. */
  readFolder(path: string, options: { isLarge: boolean }, take: (entry: NamedEntry) => void): Soon<void>;
  makeFolder(path: string): Soon<void>;
  rename(from: string, to: string): Soon<void>;
  /** Appends a few bytes. */
  write(file: number, bytes: Buffer): Soon<void>;
  /** Appends many bytes. */
  writeMany(file: number, chunks: Buffer[]): Promise<void>;
  /** Makes the bytes of a file survive a loss of power. */
  syncBytes(file: number): Promise<void>;
  /** Makes the names in a folder survive it. */
  syncFolder(folder: number): Promise<void>;
}

/**
 * The two ways to make those calls. What the system has in memory it gives in microseconds, a tenth of what it costs to
 * have another thread ask; what it has to get from a disk may take long, and a call made at once holds up every request of
 * the process meanwhile. So calls are made at once only for what is familiar (`familiar.ts`), and while that is quick
 * (`pace.ts`). Those that wait for the disk by their nature are always left to threads.
 */
export interface System {
  /** For what is familiar. */
  readonly atOnce: Calls;
  /** For everything else. */
  readonly aside: Calls;
}

export interface SystemOptions {
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
const NAMED = { withFileTypes: true, encoding: 'buffer' } as const;

export function createSystem({ isLocal, threads }: SystemOptions): System {
  const calls = callsAside({ isLocal, threads });
  return { aside: calls, atOnce: isLocal ? callsAtOnce(calls) : calls };
}

function callsAside({ isLocal, threads }: SystemOptions): Calls {
  const toRead = createLanes(threads >>> 1);
  const toChange = createLanes(threads >>> 1);
  const lookUp = (path: string): Promise<BigIntStats | undefined> =>
    toRead(() =>
      aside.lstat(path, BIG).catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return undefined;
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
    read: (file, buffer, position) => toRead(() => readWholeAside(file, buffer, position)),
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
    write: (file, bytes) => toChange(() => writeWholeAside(file, bytes)),
    writeMany: (file, chunks) => toChange(() => writeAll(file, chunks)),
    syncBytes: (file) => toChange(() => aside.fdatasync(file)),
    syncFolder: (folder) => toChange(() => aside.fsync(folder)),
  };
}

function callsAtOnce(other: Calls): Calls {
  const { run, runAll } = createPace();
  const lookUp = (path: string) => lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return {
    ...other,
    lookUp: (path) =>
      run(
        () => lookUp(path),
        async () => other.lookUp(path),
      ),
    lookUpAll: (paths) => runAll(paths, lookUp, async (path) => other.lookUp(path)),
    open: (path, flags) =>
      run(
        () => openSync(path, flags),
        async () => other.open(path, flags),
      ),
    close: (file) =>
      run(
        () => closeSync(file),
        async () => other.close(file),
      ),
    statOpen: (file) =>
      run(
        () => fstatSync(file, BIG),
        async () => other.statOpen(file),
      ),
    readLink: (path) =>
      run(
        () => readlinkSync(path),
        async () => other.readLink(path),
      ),
    read: (file, buffer, position) =>
      run(
        () => readWhole(file, buffer, position),
        async () => other.read(file, buffer, position),
      ),
    readFolder: (path, options, take) =>
      options.isLarge
        ? other.readFolder(path, options, take)
        : run(
            () => readdirSync(path, NAMED).forEach(take),
            async () => other.readFolder(path, options, take),
          ),
    create: (path) =>
      run(
        () => openSync(path, 'wx', NEW_FILE),
        async () => other.create(path),
      ),
    makeFolder: (path) =>
      run(
        () => mkdirSync(path),
        async () => other.makeFolder(path),
      ),
    rename: (from, to) =>
      run(
        () => renameSync(from, to),
        async () => other.rename(from, to),
      ),
    write: (file, bytes) =>
      run(
        () => writeWhole(file, bytes),
        async () => other.write(file, bytes),
      ),
  };
}

/** What is in a folder, some names at a time. The types of Node lack that names may be bytes here as well. */
async function openInParts(path: string): Promise<AsyncIterable<NamedEntry>> {
  const names = { encoding: 'buffer' as BufferEncoding };
  return (await aside.opendir(path, names)) as AsyncIterable<unknown> as AsyncIterable<NamedEntry>;
}

/** The mode of any new file: what the process's umask leaves of this. */
const NEW_FILE = 0o666;

function readWhole(file: number, buffer: Buffer, position: number): number {
  let filled = 0;
  while (filled < buffer.length) {
    const bytes = readSync(file, buffer, filled, buffer.length - filled, position + filled);
    if (bytes === 0) break;
    filled += bytes;
  }
  return filled;
}

async function readWholeAside(file: number, buffer: Buffer, position: number): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await aside.read(file, buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

function writeWhole(file: number, bytes: Buffer): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(file, bytes, written);
}

async function writeWholeAside(file: number, bytes: Buffer): Promise<void> {
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
    if (bytesWritten < chunk.length) await writeWholeAside(file, chunk.subarray(bytesWritten));
    bytesWritten = Math.max(0, bytesWritten - chunk.length);
  }
}
