import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { isFolderPath } from '../../platform/paths.ts';
import type { OperationOptions } from '../../platform/service/jobs.ts';
import type { Progress } from '../../platform/service/operation-request.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import type { LockedPaths, PathLock, PathLocks } from '../path-locks.ts';

/** A change in progress. */
export interface Operation {
  readonly id: number;
  /** The description that users see: `Moving 3 items to “Photos”`. */
  readonly title: string;
  readonly progress: ReadonlySignal<Progress>;
  /** Whether the user has cancelled the operation. The jobs of it end a moment later. */
  readonly isCancelling: ReadonlySignal<boolean>;
  /** Whether leaving the page would cancel a part of the operation: only jobs continue without the page. */
  readonly needsPage: ReadonlySignal<boolean>;
  cancel(): void;
}

/** A file or folder that an operation changes. */
export interface Item {
  readonly path: string;
  /** The new path of a rename, copy or move. */
  readonly destination?: string;
  /** The size in bytes; undefined if unknown. The progress of a folder contains its own size. */
  readonly size?: number | undefined;
}

/** The means of the work on one item. */
export interface ItemContext {
  /** Cancels the work on a folder. Undefined for a file, because the service completes each file that it started. */
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (progress: Progress) => void;
  readonly onDetached: NonNullable<OperationOptions['onDetached']>;
  /** Starts no other item. */
  readonly stop: () => void;
  /** Marks paths that the page showed as changed and that are unchanged, although the work succeeds. */
  readonly markUnchanged: (paths: readonly string[]) => void;
}

/** The results of an operation. Each item is in exactly one of the lists. */
export interface Outcome<Worked extends Item, Result> {
  readonly done: readonly { readonly item: Worked; readonly result: Result }[];
  readonly failed: readonly Failed<Worked>[];
  /** Items that were cancelled in progress. */
  readonly interrupted: readonly Worked[];
  readonly notStarted: readonly Worked[];
}

export interface Failed<Worked extends Item> {
  readonly item: Worked;
  readonly error: ServiceError;
}

export interface Operations {
  /**
   * Works on all items after earlier changes of the same paths, a few at a time. A failed item stops no other item. An
   * item fails without being started if an earlier change of its paths failed.
   */
  perform<Worked extends Item, Result>(
    items: readonly Worked[],
    plan: Plan<Worked, Result>,
  ): Promise<Outcome<Worked, Result>>;
}

interface Plan<Worked extends Item, Result> {
  readonly title: string;
  readonly paths: LockedPaths;
  readonly work: (item: Worked, context: ItemContext) => Promise<Result>;
}

interface OperationsOptions {
  /** Receives the operations that take longer than a moment. */
  readonly running: Signal<readonly Operation[]>;
  readonly pathLocks: PathLocks;
  /** Returns the error of an item that was not started because an earlier change failed. */
  readonly dependencyError: () => ServiceError;
}

/** Milliseconds after which an operation is shown. */
const SHOW_AFTER_MS = 400;

export function createOperations({ running, pathLocks, dependencyError }: OperationsOptions): Operations {
  let lastId = 0;

  return {
    async perform<Worked extends Item, Result>(
      items: readonly Worked[],
      { title, paths, work }: Plan<Worked, Result>,
    ): Promise<Outcome<Worked, Result>> {
      const cancelling = new AbortController();
      const isCancelling = signal(false);
      const progress = trackProgress(items);
      const attached = trackAttached(items);
      const operation: Operation = {
        id: ++lastId,
        title,
        progress: progress.total,
        isCancelling,
        needsPage: computed(() => attached.count.value > 0),
        cancel() {
          isCancelling.value = true;
          cancelling.abort();
        },
      };
      const showing = setTimeout(() => {
        running.value = [...running.value, operation];
      }, SHOW_AFTER_MS);
      try {
        const pool = { items, work, progress, attached, dependencyError, cancelled: cancelling.signal };
        return await pathLocks.withLock(paths, (lock) => runPool(pool, lock), cancelling.signal);
      } catch (error) {
        // The user cancelled while the operation waited for an earlier change.
        if (!isAbort(error)) throw error;
        return { done: [], failed: [], interrupted: [], notStarted: items };
      } finally {
        clearTimeout(showing);
        running.value = running.value.filter((other) => other !== operation);
      }
    },
  };
}

interface Pool<Worked extends Item, Result> extends Pick<Plan<Worked, Result>, 'work'> {
  readonly items: readonly Worked[];
  readonly progress: ReturnType<typeof trackProgress>;
  /** The unfinished items that are no jobs. */
  readonly attached: ReturnType<typeof trackAttached>;
  readonly dependencyError: () => ServiceError;
  readonly cancelled: AbortSignal;
}

/** The maximum number of items that are in progress. */
const MAX_PARALLEL_ITEMS = 4;

/** Works on all items, a few at a time. */
async function runPool<Worked extends Item, Result>(
  { items, work, progress, attached, dependencyError, cancelled }: Pool<Worked, Result>,
  lock: PathLock,
): Promise<Outcome<Worked, Result>> {
  const done: { item: Worked; result: Result }[] = [];
  const failed: Failed<Worked>[] = [];
  const interrupted: Worked[] = [];
  const notStarted: Worked[] = [];
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  const workOn = async (item: Worked) => {
    const context: ItemContext = {
      signal: isFolderPath(item.path) ? cancelled : undefined,
      onProgress: (part) => progress.update(item, part),
      onDetached: (isDetached) => attached.set(item, !isDetached),
      stop,
      markUnchanged: lock.fail,
    };
    try {
      if (pathsOf(item).some(lock.isUncertain)) throw dependencyError();
      done.push({ item, result: await work(item, context) });
    } catch (error) {
      lock.fail(pathsOf(item));
      if (isAbort(error)) interrupted.push(item);
      else failed.push({ item, error: asServiceError(error) });
    }
    progress.end(item);
    attached.set(item, false);
  };
  // The workers share one iterator, so each takes the next item.
  const queue = items.values();
  const runWorker = async () => {
    for (const item of queue) {
      if (!isStopped && !cancelled.aborted) await workOn(item);
      else {
        lock.fail(pathsOf(item));
        notStarted.push(item);
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_PARALLEL_ITEMS }, runWorker));
  return { done, failed, interrupted, notStarted };
}

function pathsOf({ path, destination }: Item): readonly string[] {
  return destination === undefined ? [path] : [path, destination];
}

/** Counts the unfinished items that are no jobs. */
function trackAttached(items: readonly Item[]) {
  const attached = new Set(items);
  const count = signal(attached.size);
  return {
    count,
    set(item: Item, isAttached: boolean) {
      if (isAttached) attached.add(item);
      else attached.delete(item);
      count.value = attached.size;
    },
  };
}

/** Sums up the progress of all items. The total is unknown until each folder has reported its number of files. */
function trackProgress(items: readonly Item[]) {
  const parts = new Map(
    items.map((item): [Item, Progress] => [item, { done: 0, total: isFolderPath(item.path) ? null : 1, bytes: 0 }]),
  );
  const sum = { done: 0, total: 0, bytes: 0, unknown: 0 };
  const count = ({ done, total, bytes }: Progress, sign: 1 | -1) => {
    sum.done += sign * done;
    sum.bytes += sign * bytes;
    sum.total += sign * (total ?? 0);
    sum.unknown += total === null ? sign : 0;
  };
  const summed = (): Progress => ({ done: sum.done, total: sum.unknown > 0 ? null : sum.total, bytes: sum.bytes });
  for (const part of parts.values()) count(part, 1);
  const total = signal(summed());

  const update = (item: Item, next: Progress) => {
    const before = parts.get(item);
    if (before) count(before, -1);
    count(next, 1);
    parts.set(item, next);
    total.value = summed();
  };
  return {
    total,
    update,
    end(item: Item) {
      const { done = 0, total: files = 0, bytes = 0 } = parts.get(item) ?? {};
      const all = files ?? done;
      update(item, { done: all, total: all, bytes: isFolderPath(item.path) ? bytes : (item.size ?? 0) });
    },
  };
}
