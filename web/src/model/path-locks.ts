import { ancestorsOf } from '../platform/paths.ts';
import { unlessAborted } from '../platform/unless-aborted.ts';

/** The paths that a change reads and writes. The path of a folder covers everything in it. */
export interface LockedPaths {
  readonly read?: readonly string[];
  readonly written: readonly string[];
}

/**
 * Runs changes of the same paths one after another, in the order in which the user made them. All changes and uploads
 * of the page share one instance.
 *
 * Take a lock when the user makes a change, not when its first request is sent: only later changes wait for it. A
 * waiting change costs little, and changes of other paths run at once.
 */
export interface PathLocks {
  /**
   * Runs `work` after all earlier changes of the same paths, and returns its result. If `signal` is aborted first,
   * throws its reason without running `work`. If `work` throws or does not run, all its written paths have failed.
   */
  withLock<Result>(
    paths: LockedPaths,
    work: (lock: PathLock) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;
}

/** A lock that a change holds. It passes failures on to the changes that wait for it. */
export interface PathLock {
  /**
   * Returns whether an earlier change failed to write the path, or a folder that contains it. The stored state then
   * differs from what the user saw, so this change must not touch the path.
   */
  isUncertain(path: string): boolean;
  /** Marks written paths as failed: the page showed a change of them that did not happen. */
  fail(paths: readonly string[]): void;
}

export function createPathLocks(): PathLocks {
  const readers = createLockIndex();
  const writers = createLockIndex();

  return {
    async withLock({ read = [], written }, work, signal) {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const own: Lock = { ended, failed: new Set() };
      const ownPaths = new Set(written);
      const fail = (paths: readonly string[]) => {
        for (const path of paths) if (ownPaths.has(path)) own.failed.add(path);
      };
      const earlier = new Set([
        ...writers.overlapping(written),
        ...readers.overlapping(written),
        ...writers.overlapping(read),
      ]);
      readers.add(read, own);
      writers.add(written, own);
      try {
        await unlessAborted(Promise.all([...earlier].map((lock) => lock.ended)), signal);
        const failed = new Set([...earlier].flatMap((lock) => [...lock.failed]));
        const isUncertain = (path: string) =>
          failed.size > 0 && [path, ...ancestorsOf(path)].some((each) => failed.has(each));
        return await work({ isUncertain, fail });
      } catch (error) {
        fail(written);
        throw error;
      } finally {
        readers.remove(read, own);
        writers.remove(written, own);
        end();
      }
    },
  };
}

/** The locks that the changes and the uploads of the page share. */
export const PAGE_LOCKS = createPathLocks();

interface Lock {
  readonly ended: Promise<void>;
  readonly failed: Set<string>;
}

/** Finds locks by path. */
function createLockIndex() {
  const atPath = new Map<string, Set<Lock>>();
  /** The locks of each folder and of everything in it. */
  const inFolder = new Map<string, Set<Lock>>();
  const add = (index: Map<string, Set<Lock>>, path: string, lock: Lock) => {
    const locks = index.get(path) ?? new Set();
    index.set(path, locks.add(lock));
  };
  const remove = (index: Map<string, Set<Lock>>, path: string, lock: Lock) => {
    const locks = index.get(path);
    locks?.delete(lock);
    if (locks?.size === 0) index.delete(path);
  };

  return {
    add(paths: readonly string[], lock: Lock) {
      for (const path of paths) {
        add(atPath, path, lock);
        for (const folder of ancestorsOf(path)) add(inFolder, folder, lock);
      }
    },
    remove(paths: readonly string[], lock: Lock) {
      for (const path of paths) {
        remove(atPath, path, lock);
        for (const folder of ancestorsOf(path)) remove(inFolder, folder, lock);
      }
    },
    /** Yields the locks of the paths, of the folders that contain them, and of everything in them. */
    *overlapping(paths: readonly string[]): Generator<Lock> {
      for (const path of paths) {
        yield* inFolder.get(path) ?? [];
        for (const each of [path, ...ancestorsOf(path)]) yield* atPath.get(each) ?? [];
      }
    },
  };
}
