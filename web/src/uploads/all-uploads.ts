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
import { countOtherConflicts, createQueue } from './queue.ts';
import { createReadings } from './readings.ts';
import { createReveal, entriesOf, watchUser } from './reveal.ts';
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
  /** Adds files; `into` is the folder that the user chose for all of them, by default the shown one. */
  add(wanted: readonly Wanted[], emptyFolders: readonly string[], into?: string): void;
  /** Adds what was dropped, with all that is in its folders. */
  addDropped(dropped: Dropped, folder: string): Promise<void>;
  /** Opens the folder of an item that is done, and selects it there. */
  show(id: number): void;
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
  const reveal = createReveal(options);
  /** The folder in which to reveal the items when all are done; null once the user is doing something else. */
  let revealedIn: string | null = null;
  watchUser(() => {
    revealedIn = null;
  });
  const { summary, isBusy } = tally;
  // Loads the code that sends now: the service would do so at the first upload, when the network may be gone.
  void import('../service/upload.ts').catch(() => {});

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
    ask: questionBy(options, summary, (item) => countOtherConflicts(item, items.peek(), names)),
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
    untracked(() => {
      arrivals.settle();
      if (revealedIn === folder.path.value) reveal.highlight(entriesOf(items.value, revealedIn));
      revealedIn = null;
    });
  });
  announceUploads({ summary, isBusy, messages, language });

  const add: AllUploads['add'] = (wanted, emptyFolders, into = folder.path.value) => {
    if (wanted.length + emptyFolders.length === 0) return;
    // What went well before is over: it would be counted among those that are on their way now.
    if (!isBusy.value) queue.remove(({ state }) => state.value !== 'failed');
    revealedIn = into;
    const batch: Batch = { decision: null };
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
      add(files, emptyFolders, into);
      const missing = files.length + emptyFolders.length === 0 ? Math.max(1, unreadable.length) : unreadable.length;
      if (missing === 0) return;
      const text = language.value.text.uploads.notRead(missing);
      messages.say({ kind: 'error', text, detail: unreadable.slice(0, 20).join('\n') });
    },
    show(id) {
      for (const item of some(id)) for (const path of entriesOf([item], item.folder)) reveal.show(path);
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

/** Asks what to do with a file whose name is taken. */
function questionBy(
  { dialogs, messages, rights, language }: UploadsOptions,
  summary: ReadonlySignal<UploadSummary>,
  countOthers: (item: QueuedItem) => number,
) {
  const kinds = { arriving: 'file', there: 'file' } as const;
  return (item: QueuedItem): Promise<ConflictReply> => {
    const { folder, name, file } = item;
    messages.announce(language.value.text.uploads.announceAsking);
    const mayReplace = rights.mayIn(folder, 'manage');
    const others = () => {
      // Other uploads go on meanwhile; each change of theirs brings a new summary.
      void summary.value;
      return countOthers(item);
    };
    return askAboutConflict({ dialogs, folder, name, others, kinds, arriving: file, mayReplace });
  };
}
