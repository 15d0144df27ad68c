import { batch, type ReadonlySignal, signal } from '@preact/signals';
import { freeName } from '../paths.ts';
import { ServiceError } from '../service/service-error.ts';
import type { UploadedFile } from '../service/upload.ts';
import { type ConflictReply, createConflicts } from './conflicts.ts';
import type { TakenNames } from './taken-names.ts';
import type { Tally } from './tally.ts';
import { type Batch, type Decision, isUnfinished, type QueuedItem } from './upload-item.ts';

/** Items on their way, a few at a time, in the order in which they were added. */
export interface Queue {
  readonly items: ReadonlySignal<readonly QueuedItem[]>;
  /** Adds items that wait; those which `refuse` gives a reason for fail without being sent. */
  add(items: readonly QueuedItem[]): void;
  cancel(items: Iterable<QueuedItem>): void;
  /** Sends items again that have ended without being stored. */
  retry(items: Iterable<QueuedItem>): void;
  /** Takes items off the list that have ended. */
  remove(isUnwanted: (item: QueuedItem) => boolean): void;
}

export interface QueueOptions {
  /** Throws a `ServiceError`, or the signal's reason. */
  readonly send: (item: QueuedItem, signal: AbortSignal) => Promise<UploadedFile>;
  readonly tally: Tally;
  readonly names: TakenNames;
  readonly refuse: (item: QueuedItem) => ServiceError | null;
  readonly ask: (item: QueuedItem) => Promise<ConflictReply>;
  readonly onStored: (item: QueuedItem, stored: UploadedFile) => void;
}

/** How many are sent at a time: enough to fill a connection with small files, few enough to share it. */
const LANES = 3;

export function createQueue({ send, tally, names, refuse, ask, onStored }: QueueOptions): Queue {
  const items = signal<readonly QueuedItem[]>([]);
  /** Those that may be sent; some were cancelled since. The first ones have been taken out already. */
  let waiting: QueuedItem[] = [];
  let taken = 0;
  let lanes = 0;

  const fail = (item: QueuedItem, problem: ServiceError) => {
    item.problem.value = problem;
    tally.move(item, 'failed');
  };
  const enqueue = (item: QueuedItem) => {
    waiting.push(item);
    run();
  };
  const keepBoth = async (item: QueuedItem) => {
    await names.learn(item.folder);
    item.storedName.value = freeName(item.name, (name) => names.isTaken(item.folder, name));
    names.take(item.folder, item.storedName.value);
    enqueue(item);
  };
  const onDecided = (item: QueuedItem, decision: Decision) => {
    tally.move(item, decision === 'skip' ? 'skipped' : 'waiting');
    item.mayReplace = decision === 'replace';
    item.mayRename = decision === 'keep-both';
    if (item.mayReplace) enqueue(item);
    if (item.mayRename) void keepBoth(item);
  };
  const conflicts = createConflicts({ ask, onDecided });
  const question = (item: QueuedItem) => {
    tally.move(item, 'asking');
    conflicts.add(item);
  };
  const refused = (item: QueuedItem, error: ServiceError) => {
    if (error.status !== 412 || item.mayReplace) return fail(item, error);
    names.take(item.folder, item.storedName.value);
    // So that those which come after it are not sent in vain.
    void names.learn(item.folder);
    if (!item.mayRename) return question(item);
    tally.move(item, 'waiting');
    return void keepBoth(item);
  };

  const isNameTaken = ({ kind, mayReplace, mayRename, folder, name }: QueuedItem) =>
    kind === 'file' && !mayReplace && !mayRename && names.isTaken(folder, name);
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
      if (item.kind === 'file') names.take(item.folder, item.storedName.value);
      tally.move(item, 'done');
      onStored(item, stored);
    } catch (error) {
      // Whoever ended it has said what became of it.
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

  return {
    items,
    add(added) {
      batch(() => {
        items.value = [...items.value, ...added];
        for (const item of added) {
          tally.add(item);
          const problem = refuse(item);
          if (problem) fail(item, problem);
          // All of them are asked about together, before the first is sent.
          else if (isNameTaken(item)) question(item);
          else waiting.push(item);
        }
      });
      run();
    },
    cancel(unwanted) {
      batch(() => {
        for (const item of unwanted) {
          if (!isUnfinished(item.state.value)) continue;
          tally.move(item, 'cancelled');
          item.problem.value = null;
          item.sending?.abort();
        }
      });
    },
    retry(wanted) {
      const together: Batch = { decision: null, unfinished: 0 };
      batch(() => {
        for (const item of wanted) {
          if (isUnfinished(item.state.value) || item.state.value === 'done' || refuse(item)) continue;
          item.batch = together;
          item.problem.value = null;
          tally.move(item, 'waiting');
          waiting.push(item);
        }
      });
      run();
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
