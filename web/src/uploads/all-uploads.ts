import { effect, type ReadonlySignal, untracked } from '@preact/signals';
import { askAboutConflict } from '../controls/conflict-question.tsx';
import { createTakenNames } from '../folder/taken-names.ts';
import { nameOf, parentOf } from '../paths.ts';
import { ServiceError } from '../service/service-error.ts';
import { announceUploads } from './announcing.ts';
import { createArrivals } from './arrivals.ts';
import type { ConflictReply } from './conflicts.ts';
import { createConnection } from './connection.ts';
import type { Dropped } from './dropped.ts';
import { readDropped } from './dropped-folders.ts';
import { createQueue } from './queue.ts';
import { createReadings } from './readings.ts';
import { createSending } from './sending.ts';
import { createTally, type UploadSummary } from './tally.ts';
import { type Batch, canRetry, createItem, type QueuedItem, type UploadItem } from './upload-item.ts';
import type { UploadsOptions, Wanted } from './uploads.ts';

/** The queue of uploads, with what is told of it and what can be done about it. */
export interface AllUploads {
  readonly items: ReadonlySignal<readonly UploadItem[]>;
  readonly summary: ReadonlySignal<UploadSummary>;
  /** Whether something is still to be sent. */
  readonly isBusy: ReadonlySignal<boolean>;
  /** Whether this machine is connected to anything; all waits while it is not. */
  readonly isOnline: ReadonlySignal<boolean>;
  /** How many files were found so far in folders that are being read; null while none are. */
  readonly reading: ReadonlySignal<number | null>;
  add(wanted: readonly Wanted[], emptyFolders: readonly string[]): void;
  /** Adds what was dropped, with all that is in its folders. */
  addDropped(dropped: Dropped, folder: string): Promise<void>;
  cancel(id: number): void;
  cancelAll(): void;
  retry(id: number): void;
  /** Tries all once more that failed, and may not do so again. */
  retryAll(): void;
  /** Takes those that have ended off the list. */
  clear(): void;
}

export function createAllUploads(options: UploadsOptions): AllUploads {
  const { service, folder, messages, language, turns, rights } = options;
  const tally = createTally();
  const names = createTakenNames(service, folder);
  const arrivals = createArrivals(folder, (path) => rights.mayIn(path, 'read'));
  const connection = createConnection();
  const readings = createReadings();
  const { summary, isBusy } = tally;

  const send = createSending({
    service,
    connection,
    unreadable: () => language.value.text.uploads.unreadable,
    onSent: tally.send,
  });
  const queue = createQueue({
    send,
    tally,
    turns,
    names,
    refuse: refusalBy(options),
    ask: questionBy(options, summary),
    notAsShown: () => language.value.text.uploads.notAsShown,
    onStored: arrivals.stored,
    onUncertain: arrivals.doubt,
  });
  const { items } = queue;
  const some = (id: number) => items.value.filter((item) => item.id === id);

  effect(() => {
    tally.publish();
    if (isBusy.value) return;
    names.forget();
    untracked(arrivals.settle);
  });
  announceUploads({ summary, isBusy, messages, language });

  const add: AllUploads['add'] = (wanted, emptyFolders) => {
    if (wanted.length + emptyFolders.length === 0) return;
    // What went well before is over: it would be counted among those that are on their way now.
    if (!isBusy.value) queue.remove(({ state }) => state.value !== 'failed');
    const batch: Batch = { decision: null, unfinished: 0 };
    const folders = emptyFolders.map((path) => createItem({ folder: parentOf(path), name: nameOf(path) }, batch));
    const added = [...folders, ...wanted.map((file) => createItem(file, batch))];
    arrivals.expect(added);
    queue.add(added);
  };

  return {
    items,
    summary,
    isBusy,
    isOnline: connection.isOnline,
    reading: readings.found,
    add,
    async addDropped(dropped, into) {
      const reading = readings.begin();
      const { files, emptyFolders, unreadable } = await readDropped(dropped, into, reading.find);
      reading.end();
      add(files, emptyFolders);
      if (unreadable.length === 0) return;
      const text = language.value.text.uploads.notRead(unreadable.length);
      messages.say({ kind: 'error', text, detail: unreadable.slice(0, 20).join('\n') });
    },
    cancel: (id) => queue.cancel(some(id)),
    cancelAll: () => queue.cancel(items.value),
    retry: (id) => queue.retry(some(id)),
    retryAll: () => queue.retry(items.value.filter((item) => item.state.value === 'failed' && canRetry(item, rights))),
    clear: () => queue.remove(() => true),
  };
}

/** Says why a file is not even sent. */
function refusalBy({ language, maxUploadSize }: UploadsOptions) {
  return ({ size }: QueuedItem): ServiceError | null => {
    if (maxUploadSize === null || size <= maxUploadSize) return null;
    const { text, formats } = language.value;
    return new ServiceError(413, text.uploads.tooLarge(formats.size(maxUploadSize)));
  };
}

/** Asks what becomes of a file whose name is taken. */
function questionBy({ dialogs, messages, rights, language }: UploadsOptions, summary: ReadonlySignal<UploadSummary>) {
  const kinds = { arriving: 'file', there: 'file' } as const;
  return ({ folder, name, batch }: QueuedItem): Promise<ConflictReply> => {
    messages.announce(language.value.text.uploads.announceAsking);
    const mayReplace = rights.mayIn(folder, 'manage');
    const remaining = () => {
      // Others go on while it is asked, and there is a new summary when some have ended.
      void summary.value;
      return batch.unfinished - 1;
    };
    return askAboutConflict({ dialogs, folder, name, remaining, kinds, mayReplace });
  };
}
