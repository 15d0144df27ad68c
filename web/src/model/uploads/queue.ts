import { batch, type ReadonlySignal, signal } from '@preact/signals';
import type { Turns } from '../path-locks.ts';
import type { TakenNames } from '../folder/taken-names.ts';
import { freeName } from '../../platform/paths.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import type { UploadedFile } from '../../platform/service/upload.ts';
import { type ConflictReply, createConflicts } from './conflicts.ts';
import { takeTurn } from './item-turn.ts';
import type { Tally } from './tally.ts';
import { type Batch, type Decision, isUnfinished, pathOf, type QueuedItem } from './upload-item.ts';

/** The upload queue: processes items in the order in which they were added, a few at a time. */
export interface Queue {
  readonly items: ReadonlySignal<readonly QueuedItem[]>;
  /** Adds items. Items rejected by `refuse` fail without a request. */
  add(items: readonly QueuedItem[]): void;
  cancel(items: Iterable<QueuedItem>): void;
  /** Retries items that have ended without being stored. */
  retry(items: Iterable<QueuedItem>): void;
  /** Removes finished items from the list. */
  remove(isUnwanted: (item: QueuedItem) => boolean): void;
}

export interface QueueOptions {
  /** Throws a `ServiceError`, or the signal's reason. */
  readonly send: (item: QueuedItem, signal: AbortSignal) => Promise<UploadedFile>;
  readonly tally: Tally;
  readonly turns: Pick<Turns, 'inTurn'>;
  readonly names: TakenNames;
  /** Returns the reason why an item can't be sent; null if it can. */
  readonly refuse: (item: QueuedItem) => ServiceError | null;
  readonly ask: (item: QueuedItem) => Promise<ConflictReply>;
  /** Called before an item is done, and so before all of them are. */
  readonly onStored: (item: QueuedItem, stored: UploadedFile) => void;
  /** Called before an item ends with an unknown outcome. */
  readonly onUncertain: (item: QueuedItem) => void;
}

/** The maximum number of parallel uploads: enough to fill a connection with small files, few enough to share it. */
const LANES = 3;

/**
 * The maximum number of names to try for one file. If the user can't list the folder, only the service knows the
 * taken names.
 */
const MAX_REFUSED_NAMES = 100;

export function createQueue(options: QueueOptions): Queue {
  const { send, tally, turns, names, refuse, ask } = options;
  const items = signal<readonly QueuedItem[]>([]);
  /** Items ready to send, including some that were cancelled. The first `taken` items have been removed already. */
  let waiting: QueuedItem[] = [];
  let taken = 0;
  let lanes = 0;

  const end = (item: QueuedItem, state: 'done' | 'failed' | 'cancelled' | 'skipped') => {
    tally.move(item, state);
    item.turn?.end();
  };
  const fail = (item: QueuedItem, problem: ServiceError) => {
    if (item.unanswered) options.onUncertain(item);
    item.problem.value = problem;
    end(item, 'failed');
  };
  /** Queues an item when its turn comes. */
  const enqueue = async (item: QueuedItem) => {
    const { turn } = item;
    const isAsShown = await turn?.begun;
    if (item.turn !== turn || item.state.value !== 'waiting') return;
    if (!isAsShown)
      return fail(item, new ServiceError(409, 'An earlier change failed.', { code: 'folder-not-as-shown' }));
    waiting.push(item);
    return run();
  };
  const keepBoth = async (item: QueuedItem) => {
    await names.learn(item.folder);
    item.storedName.value = freeName(item.name, (name) => names.isTaken(item.folder, name));
    names.take(pathOf(item));
    await enqueue(item);
  };
  const onDecided = (item: QueuedItem, decision: Decision) => {
    if (decision === 'skip') end(item, 'skipped');
    else tally.move(item, 'waiting');
    item.mayReplace = decision === 'replace';
    item.mayRename = decision === 'keep-both';
    if (item.mayReplace) void enqueue(item);
    if (item.mayRename) void keepBoth(item);
  };
  const conflicts = createConflicts({ ask, onDecided });
  const question = (item: QueuedItem) => {
    tally.move(item, 'asking');
    conflicts.add(item);
  };
  const refused = (item: QueuedItem, error: ServiceError) => {
    if (!error.isNameTaken || item.mayReplace) return fail(item, error);
    item.refusedNames += 1;
    if (item.refusedNames > MAX_REFUSED_NAMES) return fail(item, error);
    names.take(pathOf(item));
    // Learns the taken names, so that later items are not sent in vain.
    void names.learn(item.folder);
    if (!item.mayRename) return question(item);
    tally.move(item, 'waiting');
    return void keepBoth(item);
  };

  const isNameTaken = (item: QueuedItem) => hasTakenName(item, names);
  const next = (): QueuedItem | undefined => {
    while (taken < waiting.length) {
      const item = waiting[taken++];
      if (item?.state.value !== 'waiting') continue;
      if (!isNameTaken(item)) return item;
      question(item);
    }
    waiting = [];
    taken = 0;
    return undefined;
  };
  const process = async (item: QueuedItem) => {
    const sending = new AbortController();
    item.sending = sending;
    item.problem.value = null;
    tally.move(item, 'sending');
    try {
      const stored = await send(item, sending.signal);
      if (item.kind === 'file') names.take(pathOf(item));
      options.onStored(item, stored);
      end(item, 'done');
    } catch (error) {
      // The code that aborted the upload has set the state of the item.
      if (!sending.signal.aborted) refused(item, error instanceof ServiceError ? error : new ServiceError(0, ''));
    }
  };
  const run = () => {
    while (lanes < LANES) {
      const item = next();
      if (!item) return;
      lanes++;
      void process(item).finally(() => {
        lanes--;
        run();
      });
    }
  };

  /** Starts an item. Items with known conflicts ask the user first, so that one decision can apply to all of them. */
  const begin = (item: QueuedItem) => {
    item.turn = takeTurn(turns, item);
    if (isNameTaken(item)) question(item);
    else void enqueue(item);
  };

  return {
    items,
    add(added) {
      batch(() => {
        items.value = [...items.value, ...added];
        for (const item of added) {
          tally.add(item);
          const problem = refuse(item);
          if (problem) fail(item, problem);
          else begin(item);
        }
      });
    },
    cancel(unwanted) {
      batch(() => {
        for (const item of unwanted) {
          if (!isUnfinished(item.state.value)) continue;
          if (item.state.value === 'sending') options.onUncertain(item);
          end(item, 'cancelled');
          item.problem.value = null;
          item.sending?.abort();
        }
      });
    },
    retry(wanted) {
      const together: Batch = { decision: null };
      batch(() => {
        for (const item of wanted) {
          if (isUnfinished(item.state.value) || item.state.value === 'done' || refuse(item)) continue;
          item.batch = together;
          item.problem.value = null;
          // The permission to replace applied to the earlier file only.
          item.mayReplace = false;
          item.refusedNames = 0;
          tally.move(item, 'waiting');
          begin(item);
        }
      });
    },
    remove(isUnwanted) {
      batch(() => {
        const isRemoved = (item: QueuedItem) => !isUnfinished(item.state.value) && isUnwanted(item);
        for (const item of items.value) if (isRemoved(item)) tally.remove(item);
        items.value = items.value.filter((item) => !isRemoved(item));
      });
    },
  };
}

/** Returns whether a file is known to conflict. If an earlier attempt may have stored it, only the service can tell. */
function hasTakenName(item: QueuedItem, names: Pick<TakenNames, 'isFile'>): boolean {
  const { kind, mayReplace, mayRename, unanswered, folder, name } = item;
  return kind === 'file' && !mayReplace && !mayRename && !unanswered && names.isFile(folder, name);
}

/** Returns the number of other items of the same batch that conflict and have no decision yet. */
export function countOtherConflicts(
  item: QueuedItem,
  items: readonly QueuedItem[],
  names: Pick<TakenNames, 'isFile'>,
): number {
  const isInConflict = (other: QueuedItem) => {
    const state = other.state.peek();
    return state === 'asking' || (state === 'waiting' && hasTakenName(other, names));
  };
  return items.filter((other) => other !== item && other.batch === item.batch && isInConflict(other)).length;
}
