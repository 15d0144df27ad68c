import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { isFolderPath } from '../../platform/paths.ts';
import type { Progress } from '../../platform/service/request.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import type { PathLocks, Touched, Turn } from '../path-locks.ts';

/** A change that is under way. */
export interface Operation {
  readonly id: number;
  /** What is being done, in words: `Moving 3 items to “Photos”`. */
  readonly title: string;
  readonly progress: ReadonlySignal<Progress>;
  cancel(): void;
}

/** One of the files and folders that an operation is about. */
export interface Item {
  /** As of the listing: a folder's has a "/" at its end. */
  readonly path: string;
  /** The path that it is to have, where it is to have another. */
  readonly destination?: string;
  /** Bytes, where they are known; a folder tells its own by its progress. */
  readonly size?: number | undefined;
}

/** What an operation gives to the work on one item. */
export interface Under {
  /** Cancels the work on a folder; undefined for files, of which the service goes on with each that it was asked for. */
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (progress: Progress) => void;
  /** Begins no further item. */
  readonly stop: () => void;
  /** Tells paths that were shown as changed and are not, though the work does not fail. */
  readonly leave: (paths: readonly string[]) => void;
}

/** What became of the items: each is in one of the lists. */
export interface Outcome<Worked extends Item, Result> {
  readonly done: readonly { readonly item: Worked; readonly result: Result }[];
  readonly failed: readonly Failed<Worked>[];
  /** Cancelled on their way. */
  readonly interrupted: readonly Worked[];
  /** Those that were not begun when it was cancelled. */
  readonly left: readonly Worked[];
}

export interface Failed<Worked extends Item> {
  readonly item: Worked;
  readonly error: ServiceError;
}

export interface Operations {
  /**
   * Works on all items when it is their turn, a few at a time; what fails keeps nothing else from being done. Items are
   * not begun, and fail, of which something that came before has not made what a person saw.
   */
  perform<Worked extends Item, Result>(
    items: readonly Worked[],
    plan: Plan<Worked, Result>,
  ): Promise<Outcome<Worked, Result>>;
}

export interface Plan<Worked extends Item, Result> {
  readonly title: string;
  readonly touched: Touched;
  readonly work: (item: Worked, under: Under) => Promise<Result>;
}

export interface OperationsOptions {
  /** Has those that take longer than a moment. */
  readonly running: Signal<readonly Operation[]>;
  readonly pathLocks: PathLocks;
  /** Why an item was not begun. */
  readonly notBegun: () => ServiceError;
}

/** How many items are worked on at once. */
const AT_ONCE = 4;
/** Milliseconds after which an operation is shown. */
const SHOWN_AFTER = 400;

export function createOperations({ running, pathLocks, notBegun }: OperationsOptions): Operations {
  let last = 0;

  return {
    async perform<Worked extends Item, Result>(
      items: readonly Worked[],
      { title, touched, work }: Plan<Worked, Result>,
    ): Promise<Outcome<Worked, Result>> {
      const cancelled = new AbortController();
      const count = countProgress(items);
      const operation = { id: ++last, title, progress: count.progress, cancel: () => cancelled.abort() };
      const showing = setTimeout(() => {
        running.value = [...running.value, operation];
      }, SHOWN_AFTER);
      try {
        const all = { items, work, count, notBegun, cancelled: cancelled.signal };
        return await pathLocks.withLock(touched, (turn) => workOff(all, turn), cancelled.signal);
      } catch (error) {
        // Cancelled while it waited for its turn.
        if (!isAbort(error)) throw error;
        return { done: [], failed: [], interrupted: [], left: items };
      } finally {
        clearTimeout(showing);
        running.value = running.value.filter((other) => other !== operation);
      }
    },
  };
}

interface AllWork<Worked extends Item, Result> extends Pick<Plan<Worked, Result>, 'work'> {
  readonly items: readonly Worked[];
  readonly count: ReturnType<typeof countProgress>;
  readonly notBegun: () => ServiceError;
  readonly cancelled: AbortSignal;
}

async function workOff<Worked extends Item, Result>(
  { items, work, count, notBegun, cancelled }: AllWork<Worked, Result>,
  turn: Turn,
): Promise<Outcome<Worked, Result>> {
  const done: { item: Worked; result: Result }[] = [];
  const failed: Failed<Worked>[] = [];
  const interrupted: Worked[] = [];
  const left: Worked[] = [];
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  const one = async (item: Worked) => {
    const onProgress = (part: Progress) => count.progressOf(item, part);
    const under = { signal: isFolderPath(item.path) ? cancelled : undefined, onProgress, stop, leave: turn.fail };
    try {
      if (pathsOf(item).some(turn.isUncertain)) throw notBegun();
      done.push({ item, result: await work(item, under) });
    } catch (error) {
      turn.fail(pathsOf(item));
      if (isAbort(error)) interrupted.push(item);
      else failed.push({ item, error: asServiceError(error) });
    }
    count.end(item);
  };
  const waiting = items.values();
  const oneByOne = async () => {
    for (const item of waiting) {
      if (!isStopped && !cancelled.aborted) await one(item);
      else {
        turn.fail(pathsOf(item));
        left.push(item);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, oneByOne));
  return { done, failed, interrupted, left };
}

function pathsOf({ path, destination }: Item): readonly string[] {
  return destination === undefined ? [path] : [path, destination];
}

/** The sum of all items: files, those in folders included. How many is not known until each folder has told. */
function countProgress(items: readonly Item[]) {
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
  const progress = signal(summed());

  const progressOf = (item: Item, next: Progress) => {
    const before = parts.get(item);
    if (before) count(before, -1);
    count(next, 1);
    parts.set(item, next);
    progress.value = summed();
  };
  return {
    progress,
    progressOf,
    end(item: Item) {
      const { done = 0, total = 0, bytes = 0 } = parts.get(item) ?? {};
      const all = total ?? done;
      progressOf(item, { done: all, total: all, bytes: isFolderPath(item.path) ? bytes : (item.size ?? 0) });
    },
  };
}
