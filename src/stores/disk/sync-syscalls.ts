import {
  closeSync,
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
import { createBlockingBudget } from './blocking-budget.ts';
import { NAMED, NEW_FILE, type Syscalls } from './syscalls.ts';

const BIG = { bigint: true } as const;

/**
 * Returns system calls that run synchronously while the blocking budget allows it, and through `other` otherwise.
 * Writes of many bytes, syncs and reads of large folders always use `other`.
 */
export function createSyncSyscalls(other: Syscalls): Syscalls {
  const { run, runAll } = createBlockingBudget();
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

/** Maximum milliseconds of an operation whose data counts as likely cached afterwards. */
const MAX_CACHED_MS = 50;

/** Milliseconds for which a path is remembered after its last use. It is forgotten within twice that time. */
const TIME_TO_LIVE_MS = 15_000;

/** Maximum paths in each of the two sets: a few megabytes. */
const MAX_PATHS = 10_000;

/** The paths whose data was read recently and fast, and is therefore likely in the page cache. */
export interface LikelyCached {
  /** Returns whether the data of a path is likely cached. */
  has(place: string): boolean;
  /** Remembers a path, unless its operation was slow: a disk that is always slow must not block the process. */
  note(place: string, milliseconds: number): void;
}

/** Creates an empty set of paths. `now` returns a monotonic time in milliseconds. */
export function createLikelyCached(now: () => number = () => performance.now()): LikelyCached {
  let recent = new Set<string>();
  let former = new Set<string>();
  let since = now();

  const age = () => {
    const isOld = now() - since > TIME_TO_LIVE_MS;
    if (!isOld && recent.size < MAX_PATHS) return;
    // After a long time without calls, both sets are expired.
    former = now() - since > 2 * TIME_TO_LIVE_MS ? new Set() : recent;
    recent = new Set();
    since = now();
  };

  return {
    has(place) {
      age();
      if (recent.has(place)) return true;
      if (!former.has(place)) return false;
      recent.add(place);
      return true;
    },
    note(place, milliseconds) {
      if (milliseconds < MAX_CACHED_MS) recent.add(place);
    },
  };
}
