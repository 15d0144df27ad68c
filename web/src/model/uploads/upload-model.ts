import { effect, type ReadonlySignal, untracked } from '@preact/signals';
import type { Rights } from '../account/rights.ts';
import type { Turns } from '../path-locks.ts';
import type { Folder } from '../folder/folder.ts';
import { createTakenNames } from '../folder/taken-names.ts';
import type { Location } from '../../platform/router.ts';
import type { Messages } from '../messages.ts';
import { nameOf, parentOf } from '../../platform/paths.ts';
import type { Selection } from '../selection.ts';
import type { Service } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import { announceUploads } from './announcing.ts';
import { createArrivals } from './arrivals.ts';
import type { ConflictReply } from './conflicts.ts';
import type { Connection } from './connection.ts';
import type { Dropped } from './dropped.ts';
import { readDropped } from './dropped-folders.ts';
import { countOtherConflicts, createQueue } from './queue.ts';
import { createReadings } from './readings.ts';
import { createReveal, entriesOf } from './reveal.ts';
import { createSending } from './sending.ts';
import { createTally, type UploadSummary } from './tally.ts';
import { type Batch, canRetry, createItem, type QueuedItem, type UploadItem, type Wanted } from './upload-item.ts';

/** The upload queue with its status and its actions. */
export interface AllUploads {
  readonly items: ReadonlySignal<readonly UploadItem[]>;
  readonly summary: ReadonlySignal<UploadSummary>;
  /** Whether an item is not finished yet. */
  readonly isBusy: ReadonlySignal<boolean>;
  /** Whether the device has a network connection; uploads wait without one. */
  readonly isOnline: ReadonlySignal<boolean>;
  /** The number of files found so far in folders that are being read; null while no folder is being read. */
  readonly reading: ReadonlySignal<number | null>;
  /** Adds files; `into` is the folder that the user chose for all of them, by default the shown one. */
  add(wanted: readonly Wanted[], emptyFolders: readonly string[], into?: string): void;
  /** Adds dropped files and folders with all their content. */
  addDropped(dropped: Dropped, folder: string): Promise<void>;
  /** Opens the folder of a completed item and selects the item. */
  show(id: number): void;
  cancel(id: number): void;
  cancelAll(): void;
  retry(id: number): void;
  /** Retries all failed items that may succeed now. */
  retryAll(): void;
  /** Removes finished items from the list. */
  clear(): void;
}

export interface UploadModelOptions {
  readonly service: Service;
  readonly folder: Folder;
  readonly selection: Selection;
  readonly location: Location;
  readonly messages: Messages;
  /** Path locks, shared with all other operations that change stored entries. */
  readonly turns: Turns;
  readonly rights: Rights;
  readonly language: ReadonlySignal<FullLanguage>;
  /** The limit in bytes; null if unknown. */
  readonly maxUploadSize: number | null;
}

/** The browser's part in uploads. */
export interface UploadEnvironment {
  readonly connection: Connection;
  /** Asks the user what to do with a file whose name is taken. */
  askAboutConflict(
    file: QueuedItem,
    conflict: {
      /** Returns the number of other files that are known to conflict. Reads signals, because the number changes. */
      readonly others: () => number;
      /** Whether the user has permission to replace the existing file. */
      readonly mayReplace: boolean;
    },
  ): Promise<ConflictReply>;
  /** Calls `onBusy` when the user does something other than following the uploads. */
  watchUser(onBusy: () => void): void;
}

export function createUploadModel(options: UploadModelOptions, environment: UploadEnvironment): AllUploads {
  const { service, folder, messages, language, turns, rights } = options;
  const { connection, watchUser } = environment;
  const tally = createTally();
  const names = createTakenNames(service, folder);
  const arrivals = createArrivals(folder, (path) => rights.mayIn(path, 'read'));
  const readings = createReadings();
  const reveal = createReveal(options);
  /** The folder in which to reveal the items when all are done; null once the user does something else. */
  let revealedIn: string | null = null;
  watchUser(() => {
    revealedIn = null;
  });
  const { summary, isBusy } = tally;

  const send = createSending({ service, connection, onSent: tally.send });
  const queue = createQueue({
    send,
    tally,
    turns,
    names,
    refuse: refusalBy(options),
    ask: questionBy(options, environment, summary, (item) => countOtherConflicts(item, items.peek(), names)),
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
    // Earlier completed items would otherwise count as part of the current uploads.
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
      const text = language.value.text.uploads.notRead({ count: missing });
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

/** Returns the reason why a file can't be sent. */
function refusalBy({ maxUploadSize }: UploadModelOptions) {
  return ({ size }: QueuedItem): ServiceError | null => {
    if (maxUploadSize === null || size <= maxUploadSize) return null;
    return new ServiceError(413, 'The file is too large.', { code: 'upload-too-large', limit: maxUploadSize });
  };
}

/** Asks the user what to do with a file whose name is taken. */
function questionBy(
  { messages, rights, language }: UploadModelOptions,
  { askAboutConflict }: UploadEnvironment,
  summary: ReadonlySignal<UploadSummary>,
  countOthers: (item: QueuedItem) => number,
) {
  return (item: QueuedItem): Promise<ConflictReply> => {
    messages.announce(language.value.text.uploads.announceAsking);
    const others = () => {
      // Other uploads continue meanwhile. Reading the summary updates the count whenever they change.
      void summary.value;
      return countOthers(item);
    };
    return askAboutConflict(item, { others, mayReplace: rights.mayIn(item.folder, 'manage') });
  };
}
