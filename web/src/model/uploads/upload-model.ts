import { computed, effect, type ReadonlySignal, signal, untracked } from '@preact/signals';
import { pickWithHandles } from '../../platform/file-handles.ts';
import { nextTask } from '../../platform/next-task.ts';
import { nameOf, parentOf } from '../../platform/paths.ts';
import type { Router } from '../../platform/router.ts';
import type { Service } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import { watchUser } from '../../platform/user-activity.ts';
import type { Permissions } from '../account/permissions.ts';
import type { Undoable } from '../changes/change-context.ts';
import type { Changes } from '../changes/changes.ts';
import { deleteEarlierVersions } from '../changes/delete-versions.ts';
import type { Folder } from '../folder/folder.ts';
import { Highlighter } from '../highlighter.ts';
import type { Message, Messages } from '../messages.ts';
import { createTakenNames, type TakenNames } from '../name-conflicts.ts';
import { PAGE_LOCKS, type PathLocks } from '../path-locks.ts';
import type { ConflictAnswer, Prompts } from '../prompts.ts';
import type { Selection } from '../selection.ts';
import { DroppedFolderReader, type DroppedItems } from './dropped-folders.ts';
import { storedEntries, UploadReconciler } from './folder-updates.ts';
import type { InterruptedUploads, UploadOwner } from './interrupted.ts';
import { countOtherConflicts, UploadQueue } from './queue.ts';
import { type Connection, createConnection, Sender } from './sender.ts';
import { type UploadSummary, UploadTotals } from './totals.ts';
import {
  canResume,
  canRetry,
  createItem,
  type FileToUpload,
  needsFile,
  type QueuedItem,
  type UploadItem,
} from './upload-item.ts';
import { announceUploads } from './upload-texts.ts';

/** The upload queue with its status and its actions. */
export interface UploadModel {
  readonly items: ReadonlySignal<readonly UploadItem[]>;
  readonly summary: ReadonlySignal<UploadSummary>;
  /** Whether an item is not finished yet. */
  readonly isBusy: ReadonlySignal<boolean>;
  /** Whether the device has a network connection, and the service responds as far as known; otherwise uploads wait. */
  readonly isOnline: ReadonlySignal<boolean>;
  /** The button that undoes the uploads since the last idle time, and counts them; undefined if none can be undone. */
  readonly undo: ReadonlySignal<Message['action']>;
  /** The number of files found so far in folders that are being read; null while no folder is being read. */
  readonly filesFound: ReadonlySignal<number | null>;
  /**
   * Adds files; `into` is the folder that the user chose for all of them, by default the shown one. Resolves when all of
   * many files are added.
   */
  add(files: readonly FileToUpload[], emptyFolders: readonly string[], into?: string): Promise<void>;
  /** Adds dropped files and folders with all their content. */
  addDropped(dropped: DroppedItems, folder: string): Promise<void>;
  /** Opens the folder of a completed item and selects the item. */
  show(id: number): void;
  cancel(id: number): void;
  cancelAll(): void;
  retry(id: number): void;
  /** Retries all failed items that can succeed now. */
  retryAll(): void;
  /** Continues an interrupted item whose file can be read. Must be called during an input event, like the next three. */
  resume(id: number): void;
  /** Continues all of these. */
  resumeAll(): void;
  /** Lets the user choose the file of an interrupted item again, and continues it. */
  choose(id: number): void;
  /** Lets the user choose the files of all interrupted items again. */
  chooseAll(): void;
  /** Removes an interrupted item, and what the service has of it. */
  discard(id: number): void;
  /** Opens the picker for files, and adds the chosen ones to the shown folder. */
  pickFiles(): void;
  /** Removes finished items from the list. */
  clear(): void;
}

export interface UploadModelOptions {
  readonly service: Service;
  readonly folder: Folder;
  readonly selection: Selection;
  readonly router: Router;
  readonly messages: Messages;
  readonly permissions: Permissions;
  readonly language: ReadonlySignal<FullLanguage>;
  readonly changes: Pick<Changes, 'perform' | 'undos'>;
  /** Maximum size of an upload in bytes; null if only the store has a limit. */
  readonly maxUploadSize: number | null;
  /** Whose uploads to continue after a reload; null for visitors of share links, whose links must not stay on the device. */
  readonly owner: UploadOwner | null;
}

/** What the page as a whole has: its locks, the connection and the input of the user. Tests replace it. */
interface UploadEnvironment {
  /** Shared with all other operations that change stored entries. */
  readonly pathLocks: PathLocks;
  readonly connection: Connection;
  /** Calls `onActivity` when the user does something other than following the uploads. */
  watchUser(onActivity: () => void): void;
  /** Loads the code that remembers uploads after a reload; absent if nothing does. */
  readonly loadInterrupted?: () => Promise<Pick<typeof import('./interrupted.ts'), 'InterruptedUploads'>>;
}

export function createUploadModel(
  options: UploadModelOptions,
  prompts: Pick<Prompts, 'resolveConflict'>,
  environment: UploadEnvironment = createEnvironment(),
): UploadModel {
  const { service, folder, messages, language, permissions, changes } = options;
  const { connection, pathLocks } = environment;
  const totals = new UploadTotals();
  const { summary, isBusy } = totals;
  const names = createTakenNames(service, folder);
  const reconciler = new UploadReconciler(folder, (path) => permissions.allowsIn(path, 'read'));
  const highlighter = new Highlighter(options);
  const folderReader = new DroppedFolderReader();
  /** What was stored since the uploads began. */
  const undoable: Undoable[] = [];
  const { owner } = options;
  const loading = owner ? environment.loadInterrupted?.() : undefined;
  const sender = new Sender({
    service,
    connection,
    onProgress: (item, bytes) => totals.setSent(item, bytes),
  });
  const queue = new UploadQueue({
    send: (item, ending) => sender.send(item, ending),
    totals,
    pathLocks,
    names,
    rejectionOf: (item) => rejectionOf(item, options),
    ask: (item) => askAboutConflict(item, { ...options, prompts, names, items, summary }),
    onStored(item, stored) {
      reconciler.addStored(item, stored);
      const { change, path } = stored;
      // Without the replaced content, the upload can't be undone.
      if (item.deletesVersions) void deleteEarlierVersions(options, path);
      else undoable.push({ change, path, removed: item.mayReplace ? [] : [path], added: [] });
    },
    onUncertain: (item) => reconciler.markUncertain(item),
    records: {
      add: (...added) => void memory.then((records) => records?.add(...added)),
      update: (item) => void memory.then((records) => records?.update(item)),
      forget: (item) => void memory.then((records) => records?.forget(item)),
    },
  });
  /** Undefined until its code is loaded. */
  let interrupted: InterruptedUploads | undefined;
  const memory = (async () => {
    // Without its code, uploads work, but nothing remembers them.
    const module = await loading?.catch(() => undefined);
    if (!module || !owner) return undefined;
    interrupted = new module.InterruptedUploads({ owner, queue, messages, language });
    if (!permissions.isReadOnly) interrupted.watch();
    return interrupted.records;
  })();
  const { items } = queue;
  const undo = signal<Message['action']>(undefined);
  /** Counts the times that uploads began after an idle time. */
  let run = 0;
  /** Whether uploads of this run were cancelled. */
  let isCancelled = false;
  const cancel = (cancelled: readonly QueuedItem[]) => {
    isCancelled = isBusy.value;
    queue.cancel(cancelled);
  };
  const absorbUndo = createUndoAbsorber(options);
  const offerUndo = () => {
    const stored = undoable.splice(0);
    if (stored.length === 0 && isCancelled) absorbUndo();
    isCancelled = false;
    // Undoing an upload deletes the file.
    const isAllowed = stored.every(({ path }) => permissions.allowsIn(parentOf(path), 'manage'));
    if (stored.length === 0 || !isAllowed) return;
    const current = run;
    void changes.perform(async ({ context }) => {
      const count = stored.length;
      const { uploads } = language.value.text;
      const [only] = count === 1 ? stored : [];
      const said = only ? uploads.uploaded({ name: nameOf(only.path) }) : uploads.done({ count });
      const action = context.offerUndo(stored, said);
      if (!action || current !== run) return;
      undo.value = { ...action, label: uploads.undo({ count }) };
    });
  };
  /** The folder in which to highlight the items at the end; null once the user does something else. */
  let highlightIn: string | null = null;
  environment.watchUser(() => {
    highlightIn = null;
  });

  effect(() => {
    totals.publish();
    if (isBusy.value) {
      // The button of earlier uploads would seem to undo these.
      run++;
      undo.value = undefined;
      return;
    }
    names.forget();
    untracked(() => {
      reconciler.reconcile();
      if (highlightIn === folder.path.value) highlighter.highlight(storedEntries(items.value, highlightIn));
      highlightIn = null;
      offerUndo();
    });
  });
  announceUploads({ summary, isBusy, messages, language });

  const add: UploadModel['add'] = async (files, emptyFolders, into = folder.path.value) => {
    if (files.length + emptyFolders.length === 0) return;
    // Earlier completed items would otherwise count as part of the current uploads.
    if (!isBusy.value) queue.startOver(isOnlyRecord);
    highlightIn = into;
    const batch = {};
    const enqueue = (added: readonly QueuedItem[]) => {
      reconciler.showFolders(added);
      queue.add(added);
    };
    enqueue(emptyFolders.map((path) => createItem({ folder: parentOf(path), name: nameOf(path) }, batch)));
    for (let start = 0; start < files.length; start += MAX_ADDED) {
      if (start > 0) await nextTask();
      const part = files.slice(start, start + MAX_ADDED);
      enqueue((interrupted?.takeFrom(part) ?? part).map((file) => createItem(file, batch)));
    }
  };
  /** Whether the list of uploads is the only place that shows the stored item, as in a file request. */
  const isOnlyRecord = ({ state, folder: into }: UploadItem) =>
    state.value === 'done' && !permissions.allowsIn(into, 'read');
  const itemsWithId = (id: number) => items.value.filter((item) => item.id === id);

  return {
    items,
    summary,
    isBusy,
    isOnline: computed(() => connection.isOnline.value && !sender.isWaiting.value),
    undo,
    filesFound: folderReader.filesFound,
    add,
    async addDropped(dropped, into) {
      const { files, emptyFolders, unreadable } = await folderReader.read(dropped, into);
      // As for the action "New folder". The name of a folder would reveal whether it exists.
      await add(files, permissions.allowsIn(into, 'read') ? emptyFolders : [], into);
      // Without any entry, the browser could not read even the dropped item itself.
      const missing = files.length + emptyFolders.length === 0 ? Math.max(1, unreadable.length) : unreadable.length;
      if (missing === 0) return;
      const text = language.value.text.uploads.unreadableItems({ count: missing });
      messages.show({ kind: 'error', text, detail: unreadable.slice(0, MAX_LISTED_PATHS).join('\n') });
    },
    show(id) {
      for (const item of itemsWithId(id)) for (const path of storedEntries([item], item.folder)) highlighter.open(path);
    },
    cancel: (id) => cancel(itemsWithId(id)),
    cancelAll: () => cancel(items.value),
    retry: (id) => queue.retry(itemsWithId(id)),
    retryAll: () =>
      queue.retry(items.value.filter((item) => item.state.value === 'failed' && canRetry(item, permissions))),
    resume: (id) => void interrupted?.resume(itemsWithId(id)),
    resumeAll: () => void interrupted?.resume(items.value.filter(canResume)),
    choose: (id) => interrupted?.choose(itemsWithId(id)),
    chooseAll: () => interrupted?.choose(items.value.filter(needsFile)),
    discard: (id) => void interrupted?.discard(itemsWithId(id)),
    pickFiles() {
      const { value: into } = folder.path;
      pickWithHandles(
        (picked) =>
          void add(
            picked.map(({ file, source }) => ({ file, source, folder: into, name: file.name })),
            [],
            into,
          ),
      );
    },
    clear: () => queue.remove(() => true),
  };
}

/** The number of files that are added without a pause: browsers take a third of a millisecond to read the size of each. */
const MAX_ADDED = 50;

/** The maximum number of unreadable items that a message lists. */
const MAX_LISTED_PATHS = 20;

function createEnvironment(): UploadEnvironment {
  // Preloads the code that sends files, because the network can fail before the first upload.
  void import('../../platform/service/upload.ts').catch(() => {});
  return {
    pathLocks: PAGE_LOCKS,
    connection: createConnection(),
    watchUser,
    loadInterrupted: () => import('./interrupted.ts'),
  };
}

/** Returns the reason why an item can't be sent; null if it can. */
function rejectionOf({ size }: QueuedItem, { maxUploadSize }: UploadModelOptions): ServiceError | null {
  if (maxUploadSize === null || size <= maxUploadSize) return null;
  return new ServiceError(413, 'The file is too large.', { code: 'upload-too-large', limit: maxUploadSize });
}

/**
 * Returns a function that lets the next Ctrl+Z say that there is nothing to undo: after cancelled uploads, users don't expect it to
 * undo the change before them.
 */
function createUndoAbsorber({ changes: { undos }, messages, language }: UploadModelOptions): () => void {
  const others = () => undos.value.filter((other) => other !== absorb);
  const absorb = () => {
    undos.value = others();
    messages.show({ kind: 'done', text: language.value.text.uploads.nothingToUndo });
  };
  return () => {
    const changes = others();
    if (changes.length > 0) undos.value = [...changes, absorb];
  };
}

interface ConflictContext extends Pick<UploadModelOptions, 'messages' | 'permissions' | 'language'> {
  readonly prompts: Pick<Prompts, 'resolveConflict'>;
  readonly names: TakenNames;
  readonly items: ReadonlySignal<readonly QueuedItem[]>;
  readonly summary: ReadonlySignal<UploadSummary>;
}

/** Asks the user what to do with a file whose name is taken. */
function askAboutConflict(
  item: QueuedItem,
  { messages, permissions, language, prompts, names, items, summary }: ConflictContext,
): Promise<ConflictAnswer | null> {
  messages.announce(language.value.text.uploads.announceConflict);
  const { folder, name, file } = item;
  return prompts.resolveConflict({
    folder,
    name,
    kinds: { incoming: 'file', existing: 'file' },
    incoming: file,
    mayReplace: permissions.allowsIn(folder, 'manage'),
    others() {
      // Other uploads continue meanwhile. Reading the summary updates the count whenever they change.
      void summary.value;
      return countOtherConflicts(item, items.peek(), names);
    },
  });
}
