import { ancestorsOf } from '../platform/paths.ts';
import { unlessAborted } from '../platform/unless-aborted.ts';

/** What a change touches: a folder stands for all that is in it. */
export interface Touched {
  /** What is only looked at. */
  readonly read?: readonly string[];
  readonly written: readonly string[];
}

/**
 * Lets whatever changes what is stored wait for each other where it touches the same, in the order in which it was
 * asked for: the changes of files and folders, and the uploads. There is one for the whole page.
 *
 * A turn is best taken when a person asks for something, not when its first request is sent: what is asked for later
 * waits for it only from then on. What waits costs little, and what touches nothing of the same goes on at once.
 */
export interface PathLocks {
  /**
   * Does the work once all that was asked for before it, and touches the same, has ended; gives what it gives. The
   * turn lasts until the work does. Where `signal` is aborted before, its reason is thrown, and the work never begins.
   * All that was to be written by work that throws, or never begins, counts as failed.
   */
  withLock<Result>(touched: Touched, work: (turn: Turn) => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

/** What work learns of those that it waited for, and tells those that wait for it. */
export interface Turn {
  /**
   * Whether something that was waited for was to make something of a path, or of a folder around it, and failed. What
   * is there now is not what a person saw when asking: work on it is not to begin.
   */
  isUncertain(path: string): boolean;
  /** Tells which of the written paths were shown as changed, and are not. Called before the work ends. */
  fail(paths: readonly string[]): void;
}

export function createPathLocks(): PathLocks {
  const readers = createPlaces();
  const writers = createPlaces();

  return {
    async withLock({ read = [], written }, work, signal) {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const ours: Held = { ended, failed: new Set() };
      const ownPaths = new Set(written);
      const fail = (paths: readonly string[]) => {
        for (const path of paths) if (ownPaths.has(path)) ours.failed.add(path);
      };
      const before = new Set([...writers.meeting(written), ...readers.meeting(written), ...writers.meeting(read)]);
      readers.add(read, ours);
      writers.add(written, ours);
      try {
        await unlessAborted(Promise.all([...before].map((other) => other.ended)), signal);
        const failedBefore = new Set([...before].flatMap((other) => [...other.failed]));
        const isUncertain = (path: string) =>
          failedBefore.size > 0 && [path, ...ancestorsOf(path)].some((place) => failedBefore.has(place));
        return await work({ isUncertain, fail });
      } catch (error) {
        fail(written);
        throw error;
      } finally {
        readers.remove(read, ours);
        writers.remove(written, ours);
        end();
      }
    },
  };
}

interface Held {
  readonly ended: Promise<void>;
  readonly failed: Set<string>;
}

/** Who is at which paths. */
function createPlaces() {
  const at = new Map<string, Set<Held>>();
  /** Who is at something in a folder, or at the folder itself. */
  const within = new Map<string, Set<Held>>();
  const add = (places: Map<string, Set<Held>>, path: string, held: Held) => {
    const there = places.get(path) ?? new Set();
    places.set(path, there.add(held));
  };
  const remove = (places: Map<string, Set<Held>>, path: string, held: Held) => {
    const there = places.get(path);
    there?.delete(held);
    if (there?.size === 0) places.delete(path);
  };

  return {
    add(paths: readonly string[], held: Held) {
      for (const path of paths) {
        add(at, path, held);
        for (const folder of ancestorsOf(path)) add(within, folder, held);
      }
    },
    remove(paths: readonly string[], held: Held) {
      for (const path of paths) {
        remove(at, path, held);
        for (const folder of ancestorsOf(path)) remove(within, folder, held);
      }
    },
    /** Those at one of the paths, at a folder around it, or at something in it. */
    *meeting(paths: readonly string[]): Generator<Held> {
      for (const path of paths) {
        yield* within.get(path) ?? [];
        for (const place of [path, ...ancestorsOf(path)]) yield* at.get(place) ?? [];
      }
    },
  };
}
