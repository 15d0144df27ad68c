import { batch, type ReadonlySignal, signal } from '@preact/signals';
import { freeName } from '../../platform/free-name.ts';
import { nameOf } from '../../platform/paths.ts';
import { noResponse, ServiceError } from '../../platform/service/service-error.ts';
import type { UploadedFile } from '../../platform/service/upload.ts';
import { type ConflictDecision, ConflictQueue, isReplacement, type TakenNames } from '../name-conflicts.ts';
import type { PathLocks } from '../path-locks.ts';
import type { ConflictAnswer } from '../prompts.ts';
import type { UploadTotals } from './totals.ts';
import { type ItemLock, isUnfinished, pathOf, type QueuedItem, type UploadItem } from './upload-item.ts';

export interface QueueOptions {
  /** Sends an item. Throws a `ServiceError`, or the signal's reason. */
  readonly send: (item: QueuedItem, signal: AbortSignal) => Promise<UploadedFile>;
  readonly totals: UploadTotals;
  readonly pathLocks: Pick<PathLocks, 'withLock'>;
  readonly names: TakenNames;
  /** Returns the reason why an item can't be sent; null if it can. */
  readonly rejectionOf: (item: QueuedItem) => ServiceError | null;
  /** Asks the user what to do with an item whose name is taken. Resolves to null if the user cancels. */
  readonly ask: (item: QueuedItem) => Promise<ConflictAnswer | null>;
  /** Called before an item is done, and so before all of them are. */
  readonly onStored: (item: QueuedItem, stored: UploadedFile) => void;
  /** Called before an item ends with an unknown outcome. */
  readonly onUncertain: (item: QueuedItem) => void;
  readonly records: ItemRecords;
}

/** Remembers the items that are not stored, cancelled or skipped yet. */
export interface ItemRecords {
  add(items: readonly QueuedItem[], addedAt?: number): void;
  update(item: QueuedItem): void;
  forget(item: QueuedItem): void;
}

/** The maximum number of parallel uploads: enough to fill a connection with small files, few enough to share it. */
const MAX_PARALLEL_UPLOADS = 3;

/**
 * The maximum number of names to try for one file. If the user can't list the folder, only the service knows the
 * taken names.
 */
const MAX_REJECTED_NAMES = 100;

/** Folders never conflict, because a folder is created only if it does not exist. */
const FILES = { incoming: 'file', existing: 'file' } as const;

const SKIP_ONE = { decision: 'skip', forAll: false } as const;

/** Sends items in the order in which they were added, a few at a time. */
export class UploadQueue {
  readonly #options: QueueOptions;
  readonly #items = signal<readonly QueuedItem[]>([]);
  readonly items: ReadonlySignal<readonly QueuedItem[]> = this.#items;
  readonly #conflicts = new ConflictQueue();
  /** Items ready to send, including cancelled ones. The items before `#nextIndex` were taken already. */
  #ready: QueuedItem[] = [];
  #nextIndex = 0;
  #activeUploads = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Adds items. Items rejected by `rejectionOf` fail without a request. */
  add(added: readonly QueuedItem[]): void {
    const { totals, rejectionOf, records } = this.#options;
    const rejections = added.map((item) => rejectionOf(item));
    records.add(added.filter((_, index) => rejections[index] === null));
    batch(() => {
      this.#items.value = [...this.#items.value, ...added];
      for (const [index, item] of added.entries()) {
        totals.add(item);
        const rejection = rejections[index];
        if (rejection) this.#fail(item, rejection);
        else this.#start(item);
      }
    });
  }

  /** Adds interrupted items, which wait for `resume`. */
  addInterrupted(added: readonly QueuedItem[], addedAt: number): void {
    const { totals, records } = this.#options;
    records.add(added, addedAt);
    batch(() => {
      this.#items.value = [...this.#items.value, ...added];
      for (const item of added) totals.add(item);
    });
  }

  /** Continues interrupted items. Those without a file are read from their source. */
  resume(items: readonly QueuedItem[]): void {
    const resumed = {};
    batch(() => {
      for (const item of items) {
        if (item.state.value !== 'interrupted') continue;
        item.batch = resumed;
        this.#options.records.update(item);
        this.#options.totals.setState(item, 'waiting');
        this.#start(item);
      }
    });
  }

  cancel(items: Iterable<QueuedItem>): void {
    batch(() => {
      for (const item of items) {
        if (!isUnfinished(item.state.value)) continue;
        if (item.state.value === 'sending') this.#options.onUncertain(item);
        this.#end(item, 'cancelled');
        item.problem.value = null;
        item.sending?.abort();
      }
    });
  }

  /** Removes interrupted items from the list. */
  discard(items: readonly QueuedItem[]): void {
    const discarded = new Set(items.filter(({ state }) => state.value === 'interrupted'));
    for (const item of discarded) this.#options.records.forget(item);
    this.remove((item) => discarded.has(item));
  }

  /** Retries items that have ended without being stored. */
  retry(items: Iterable<QueuedItem>): void {
    const { totals, rejectionOf, records } = this.#options;
    const retried = {};
    batch(() => {
      for (const item of items) {
        const state = item.state.value;
        if (isUnfinished(state) || state === 'done' || state === 'interrupted' || rejectionOf(item)) continue;
        item.batch = retried;
        item.problem.value = null;
        // The permission to replace applied to the earlier file only.
        item.mayReplace = false;
        item.deletesVersions = false;
        item.rejectedNames = 0;
        records.forget(item);
        records.add([item]);
        totals.setState(item, 'waiting');
        this.#start(item);
      }
    });
  }

  /**
   * Removes all finished items except failed ones and records, which the progress of later uploads excludes.
   */
  startOver(isRecord: (item: QueuedItem) => boolean): void {
    this.remove((item) => !['failed', 'interrupted'].includes(item.state.value) && !isRecord(item));
    for (const item of this.#items.value) if (item.state.value === 'done') this.#options.totals.setAside(item);
  }

  /** Removes finished items from the list. */
  remove(isUnwanted: (item: QueuedItem) => boolean): void {
    batch(() => {
      const isRemoved = (item: QueuedItem) => !isUnfinished(item.state.value) && isUnwanted(item);
      for (const item of this.#items.value) {
        if (!isRemoved(item)) continue;
        this.#options.totals.remove(item);
        // What the service has of an upload stays until it expires, so that the next page shows the upload again.
        if (item.state.value !== 'interrupted' || item.sent.value === 0) this.#options.records.forget(item);
      }
      this.#items.value = this.#items.value.filter((item) => !isRemoved(item));
    });
  }

  /** Starts an item. Items with known conflicts ask the user first, so that one decision can apply to all of them. */
  #start(item: QueuedItem): void {
    const { pathLocks, names } = this.#options;
    item.lock = lockPath(pathLocks, item);
    if (hasTakenName(item, names)) this.#askAbout(item);
    else void this.#enqueue(item);
  }

  /** Queues an item once its path is locked. */
  async #enqueue(item: QueuedItem): Promise<void> {
    const { lock } = item;
    const canBeSent = await lock?.acquired;
    if (item.lock !== lock || item.state.value !== 'waiting') return;
    if (!canBeSent)
      return this.#fail(item, new ServiceError(409, 'An earlier change failed.', { code: 'folder-outdated' }));
    this.#ready.push(item);
    this.#sendReady();
  }

  #sendReady(): void {
    while (this.#activeUploads < MAX_PARALLEL_UPLOADS) {
      const item = this.#takeNext();
      if (!item) return;
      this.#activeUploads++;
      void this.#upload(item).finally(() => {
        this.#activeUploads--;
        this.#sendReady();
      });
    }
  }

  #takeNext(): QueuedItem | undefined {
    while (this.#nextIndex < this.#ready.length) {
      const item = this.#ready[this.#nextIndex++];
      if (item?.state.value !== 'waiting') continue;
      if (!hasTakenName(item, this.#options.names)) return item;
      this.#askAbout(item);
    }
    this.#ready = [];
    this.#nextIndex = 0;
    return undefined;
  }

  async #upload(item: QueuedItem): Promise<void> {
    const { send, totals, names, onStored } = this.#options;
    const sending = new AbortController();
    item.sending = sending;
    item.problem.value = null;
    totals.setState(item, 'sending');
    try {
      const stored = await send(item, sending.signal);
      if (item.kind === 'file') {
        // Through a share link, a file whose name is taken gets a number.
        item.storedName.value = nameOf(stored.path);
        names.take(pathOf(item));
      }
      onStored(item, stored);
      this.#end(item, 'done');
    } catch (error) {
      // The code that aborted the upload has set the state of the item.
      if (!sending.signal.aborted) this.#handleError(item, error instanceof ServiceError ? error : noResponse());
    }
  }

  #handleError(item: QueuedItem, error: ServiceError): void {
    const { totals, names } = this.#options;
    if (!error.isNameTaken || item.mayReplace) return this.#fail(item, error);
    item.rejectedNames += 1;
    if (item.rejectedNames > MAX_REJECTED_NAMES) return this.#fail(item, error);
    names.take(pathOf(item));
    // Learns the other taken names, because the service would reject each of them after the upload.
    void names.learn(item.folder);
    if (!item.mayRename) return this.#askAbout(item);
    totals.setState(item, 'waiting');
    void this.#enqueueRenamed(item);
  }

  #askAbout(item: QueuedItem): void {
    this.#options.totals.setState(item, 'conflict');
    void this.#decide(item);
  }

  async #decide(item: QueuedItem): Promise<void> {
    const { batch: currentBatch } = item;
    // While it waits for a decision, an item can be cancelled, and retried in another batch.
    const isUndecided = () => item.state.value === 'conflict' && item.batch === currentBatch;
    const decision = await this.#conflicts.decide({
      batch: currentBatch,
      findKinds: () => FILES,
      ask: async () => (isUndecided() ? this.#options.ask(item) : SKIP_ONE),
    });
    if (isUndecided()) this.#applyDecision(item, decision);
  }

  #applyDecision(item: QueuedItem, decision: ConflictDecision): void {
    if (decision === 'skip' || decision === 'cancel') this.#end(item, 'skipped');
    else this.#options.totals.setState(item, 'waiting');
    item.mayReplace = isReplacement(decision);
    item.deletesVersions = decision === 'replace-with-versions';
    item.mayRename = decision === 'keep-both';
    this.#options.records.update(item);
    if (item.mayReplace) void this.#enqueue(item);
    if (item.mayRename) void this.#enqueueRenamed(item);
  }

  /** Queues an item under a name that is free as far as known. */
  async #enqueueRenamed(item: QueuedItem): Promise<void> {
    const { names } = this.#options;
    const { lock } = item;
    await names.learn(item.folder);
    // The user can have cancelled or retried the item meanwhile.
    if (item.lock !== lock || item.state.value !== 'waiting') return;
    item.storedName.value = freeName(item.name, (name) => names.isTaken(item.folder, name));
    names.take(pathOf(item));
    this.#options.records.update(item);
    await this.#enqueue(item);
  }

  #fail(item: QueuedItem, problem: ServiceError): void {
    if (item.uncertainAttempt) this.#options.onUncertain(item);
    item.problem.value = problem;
    this.#end(item, 'failed');
  }

  #end(item: QueuedItem, state: 'done' | 'failed' | 'cancelled' | 'skipped'): void {
    this.#options.totals.setState(item, state);
    item.lock?.release();
    if (state === 'failed') return;
    this.#options.records.forget(item);
    // The browser keeps a connection to its process of files for each one.
    if (state === 'done') item.file = undefined;
  }
}

/** Locks the path of an item among all operations that change stored entries. */
function lockPath(pathLocks: Pick<PathLocks, 'withLock'>, item: UploadItem): ItemLock {
  const { promise: acquired, resolve: acquire } = Promise.withResolvers<boolean>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const path = pathOf(item);
  // Waits without a signal: a lock that an abort ends would count as a failed operation.
  void pathLocks.withLock({ written: [path] }, (lock) => {
    acquire(!lock.isUncertain(path));
    return released;
  });
  return { acquired, release };
}

/** Returns whether a file is known to conflict. If an earlier attempt might have stored it, only the service can tell. */
function hasTakenName(item: QueuedItem, names: Pick<TakenNames, 'isFile'>): boolean {
  const { kind, mayReplace, mayRename, uncertainAttempt, folder, name } = item;
  return kind === 'file' && !mayReplace && !mayRename && !uncertainAttempt && names.isFile(folder, name);
}

/** Returns the number of other items of the same batch that conflict and have no decision yet. */
export function countOtherConflicts(
  item: QueuedItem,
  items: readonly QueuedItem[],
  names: Pick<TakenNames, 'isFile'>,
): number {
  const isInConflict = (other: QueuedItem) => {
    const state = other.state.peek();
    return state === 'conflict' || (state === 'waiting' && hasTakenName(other, names));
  };
  return items.filter((other) => other !== item && other.batch === item.batch && isInConflict(other)).length;
}
