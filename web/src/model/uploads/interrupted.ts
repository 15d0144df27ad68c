import { effect, type ReadonlySignal, signal, untracked } from '@preact/signals';
import { isReadable, type PickedFile, pickWithHandles, requestRead } from '../../platform/file-handles.ts';
import { createPageIdentity, type PageIdentity } from '../../platform/page-locks.ts';
import { openRecordStore, type RecordStore } from '../../platform/record-store.ts';
import type { FileKey, UploadOrigin } from '../../platform/service/unfinished-uploads.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import type { Messages } from '../messages.ts';
import type { UploadQueue } from './queue.ts';
import { createItem, type FileToUpload, type QueuedItem, type UploadState } from './upload-item.ts';
import { type FoundUploads, type RecordedUpload, type UploadRecord, UploadRecords } from './upload-records.ts';

/* Uploads of pages that were closed or reloaded, or that crashed: this page shows and continues them. */

/** Where uploads begin, and whose they are. */
export interface UploadOwner extends UploadOrigin {
  /** The last signed-in user of the page. */
  readonly username: ReadonlySignal<string | null> | undefined;
}

export interface InterruptedOptions {
  readonly owner: UploadOwner;
  readonly queue: UploadQueue;
  readonly messages: Messages;
  readonly language: ReadonlySignal<FullLanguage>;
}

/** The browser's storage and its open pages. Tests replace it. */
interface Device {
  readonly records: Promise<RecordStore<UploadRecord>>;
  readonly page: PageIdentity;
}

/** Remembers the uploads of the queue, and the interrupted ones in it. */
export class InterruptedUploads {
  readonly #options: InterruptedOptions;
  readonly records: UploadRecords;
  /** The message about files that were chosen by mistake. */
  #shownMistake: number | undefined;

  constructor(
    options: InterruptedOptions,
    device: Device = { records: openRecordStore(), page: createPageIdentity() },
  ) {
    const { endpoint, username } = options.owner;
    this.#options = options;
    this.records = new UploadRecords(device.records, device.page, () =>
      JSON.stringify([endpoint, username?.peek() ?? null]),
    );
  }

  /** Shows the interrupted uploads of the user, and continues those whose files the page may still read. */
  watch(): void {
    const { owner } = this.#options;
    effect(() => {
      void owner.username?.value;
      untracked(() => void this.records.find((found) => this.#restore(found)));
    });
  }

  /** Continues items whose files can be read, after asking for the permission. Must be called during an input event. */
  async resume(items: readonly QueuedItem[]): Promise<void> {
    await this.#resumeReadable(items, requestRead);
  }

  /** Lets the user choose the files of interrupted items again, and continues these. */
  choose(items: readonly QueuedItem[]): void {
    pickWithHandles((picked) => this.#continueWith(picked, items));
  }

  /** Removes items from the list, and what the service has of them. */
  async discard(items: readonly QueuedItem[]): Promise<void> {
    const { queue, owner } = this.#options;
    queue.discard(items);
    const { discardUpload } = await import('../../platform/service/unfinished-uploads.ts');
    for (const item of items) discardUpload(owner, keyOf(item));
  }

  /** Continues the interrupted uploads of these files. Returns the other files. */
  takeFrom(files: readonly FileToUpload[]): readonly FileToUpload[] {
    const interrupted = new Map(this.#items().map((item) => [fingerprintOf(item), item]));
    if (interrupted.size === 0) return files;
    const resumed: QueuedItem[] = [];
    const others = files.filter(({ file, folder, name, source }) => {
      const { size, lastModified: modified } = file;
      const item = interrupted.get(fingerprintOf({ folder, name, size, modified }));
      if (item) resumed.push(Object.assign(item, { file, source }));
      return item === undefined;
    });
    this.#options.queue.resume(resumed);
    return others;
  }

  #queued(): ReadonlySet<string> {
    return new Set(this.#options.queue.items.value.map(fingerprintOf));
  }

  #items(): readonly QueuedItem[] {
    return this.#options.queue.items.value.filter(({ state }) => state.value === 'interrupted');
  }

  async #restore(found: readonly FoundUploads[]): Promise<void> {
    const { queue, owner, messages, language } = this.#options;
    const { readUploadStates } = await import('../../platform/service/unfinished-uploads.ts');
    const restored: QueuedItem[] = [];
    for (const { uploads: recorded, addedAt } of found) {
      const before = this.#queued();
      // The user can have chosen a file again already, and also while the service responds.
      const uploads = recorded.filter((upload) => !before.has(fingerprintOf(upload)));
      const states = await readUploadStates(
        owner,
        uploads.map(({ storedName, mayReplace, ...upload }) => ({ ...upload, name: storedName, replace: mayReplace })),
      );
      const queued = this.#queued();
      const batch = {};
      const items = uploads.flatMap((upload, index) => {
        const state = states[index];
        if (!state || state.state === 'ended' || (state.state === 'absent' && upload.hasBegun)) return [];
        if (queued.has(fingerprintOf(upload))) return [];
        const sent = state.state === 'unfinished' ? (state.offset ?? 0) : 0;
        return [createInterrupted(upload, { addedAt, sent, batch })];
      });
      queue.addInterrupted(items, addedAt);
      restored.push(...items);
    }
    if (restored.length === 0) return;
    messages.announce(language.value.text.uploads.unfinished({ count: restored.length }));
    await this.#resumeReadable(restored, isReadable);
  }

  /** Resumes the items whose chosen file or folder `allows` returns true for. */
  async #resumeReadable(
    items: readonly QueuedItem[],
    allows: (root: FileSystemHandle) => Promise<boolean>,
  ): Promise<void> {
    const roots = new Set(items.flatMap(({ source }) => (source ? [source.root] : [])));
    for (const root of roots) {
      const isAllowed = await allows(root).catch(() => false);
      if (isAllowed) this.#options.queue.resume(items.filter(({ source }) => source?.root === root));
    }
  }

  #continueWith(picked: readonly PickedFile[], wanted: readonly QueuedItem[]): void {
    const { queue, messages, language } = this.#options;
    const candidates = [...wanted, ...this.#items()].filter(({ state }) => state.value === 'interrupted');
    const resumed = new Set<QueuedItem>();
    const others: File[] = [];
    for (const { file, source } of picked) {
      const { name, size, lastModified: modified } = file;
      const item = candidates.find(
        (each) => each.name === name && each.size === size && each.modified === modified && !resumed.has(each),
      );
      if (item) resumed.add(Object.assign(item, { file, source }));
      else others.push(file);
    }
    queue.resume([...resumed]);
    if (this.#shownMistake !== undefined) messages.dismiss(this.#shownMistake);
    const [other] = others;
    const [expected] = wanted;
    if (!other || !expected) return;
    const { text, formats } = language.value;
    const reason =
      others.length === 1 && wanted.length === 1
        ? text.uploads.otherFile({ name: other.name, expected: expected.name, size: formats.size(expected.size) })
        : text.uploads.otherFiles({ count: others.length });
    this.#shownMistake = messages.show({ kind: 'error', text: reason });
  }
}

function keyOf({ folder, storedName, size, modified, mayReplace }: QueuedItem): FileKey {
  return { folder, name: storedName.value, size, modified, replace: mayReplace };
}

function fingerprintOf({ folder, name, size, modified }: Pick<QueuedItem, 'folder' | 'name' | 'size' | 'modified'>) {
  return JSON.stringify([folder, name, size, modified]);
}

/** Creates an item for an interrupted upload, of which the service has some bytes. */
function createInterrupted(
  { storedName, size, modified, mayReplace, deletesVersions = false, mayRename, ...recorded }: RecordedUpload,
  { addedAt, sent, batch }: { readonly addedAt: number; readonly sent: number; readonly batch: object },
): QueuedItem {
  return {
    ...createItem(recorded, batch),
    kind: 'file',
    storedName: signal(storedName),
    size,
    modified,
    sent: signal(sent),
    state: signal<UploadState>('interrupted'),
    mayReplace,
    deletesVersions,
    mayRename,
    // The service can have stored it, and the page ended before the response.
    uncertainAttempt: { name: storedName, since: addedAt },
  };
}
