import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { type BlockingBudget, createBlockingBudget } from './blocking-budget.ts';
import {
  createThreadpoolSyscalls,
  type DiskTraits,
  isEffectiveUser,
  NAMED_ENTRIES,
  NEW_FILE_MODE,
  type Syscalls,
} from './syscalls.ts';

/**
 * System calls in two forms. A synchronous call for cached data takes microseconds, a tenth of a round trip to the
 * thread pool. For data on the disk, it can take long and blocks all requests of the process meanwhile. Synchronous
 * calls are therefore used only for data that is likely cached (`LikelyCached`), and only while they are fast
 * (`blocking-budget.ts`). Calls that always wait for the disk, such as syncs, run in the thread pool.
 */
export interface System {
  /** For data that is likely cached. Same as `threadpool` if the disk is not local. */
  readonly sync: Syscalls;
  /** For all other data. */
  readonly threadpool: Syscalls;
}

/** Creates the system calls for a disk. */
export function createSystem(disk: DiskTraits): System {
  const calls = createThreadpoolSyscalls(disk);
  return { threadpool: calls, sync: disk.isLocal ? createSyncSyscalls(calls) : calls };
}

const BIGINT = { bigint: true } as const;

/**
 * Returns system calls that run synchronously while the blocking budget allows it, and through `other` otherwise.
 * Writes of many bytes, syncs and reads of large folders always use `other`.
 */
function createSyncSyscalls(other: Syscalls): Syscalls {
  const budget = createBlockingBudget();
  return { ...other, ...syncReads(other, budget), ...syncChanges(other, budget) };
}

function syncReads(other: Syscalls, { run, runAll }: BlockingBudget) {
  return {
    find: (path) =>
      run(
        () => findSync(path),
        async () => other.find(path),
      ),
    findAll: (paths) => runAll(paths, findSync, async (path) => other.find(path)),
    areReadable: (paths) =>
      runAll(paths, isReadableSync, async (path) => (await other.areReadable([path]))[0] === true),
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
        () => fstatSync(file, BIGINT),
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
    readFolder: (path, options, visit) =>
      options.isLarge
        ? other.readFolder(path, options, visit)
        : run(
            () => readdirSync(path, NAMED_ENTRIES).forEach(visit),
            async () => other.readFolder(path, options, visit),
          ),
  } satisfies Partial<Syscalls>;
}

function syncChanges(other: Syscalls, { run }: BlockingBudget) {
  return {
    create: (path) =>
      run(
        () => openSync(path, 'wx', NEW_FILE_MODE),
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
  } satisfies Partial<Syscalls>;
}

function findSync(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false });
}

function isReadableSync(path: string): boolean {
  try {
    if (!isEffectiveUser()) return false;
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

function readWhole(file: number, buffer: Buffer, position: number): number {
  let filled = 0;
  while (filled < buffer.length) {
    const bytes = readSync(file, buffer, filled, buffer.length - filled, position + filled);
    if (bytes === 0) break;
    filled += bytes;
  }
  return filled;
}

function writeWhole(file: number, bytes: Buffer): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(file, bytes, written);
}
