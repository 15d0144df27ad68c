import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Order } from '../../platform/preferences.ts';
import type { Entry, Listing, Service } from '../../platform/service/service.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import { applyChanges, type Change, createChangeLog, type PendingChange } from './change-log.ts';
import { createFolderCache, createFolderReader, type FolderReader, type RefreshOptions } from './folder-reader.ts';
import { type CompareNames, filterEntries, sortByTimes, sortEntries } from './order.ts';

/** The shown folder and its entries. */
export interface Folder extends Pick<FolderReader, 'state' | 'problem' | 'listing'> {
  /** Whether a listing is being read, which can lack changes of the last moments. */
  readonly isReading: boolean;
  readonly path: ReadonlySignal<string>;
  /** The folder that was shown before this one; null for the first. */
  readonly previousPath: ReadonlySignal<string | null>;
  /** The entries that match the filter, in display order. */
  readonly entries: ReadonlySignal<readonly Entry[]>;
  /** All entries, by the bytes of their names. */
  readonly all: ReadonlySignal<readonly Entry[]>;
  /** The number of entries without the filter. */
  readonly count: ReadonlySignal<number>;
  readonly filter: Signal<string>;
  /**
   * The local times of photos by path, in the form `2026-11-01T20:41:00`. While they are set, photos are before all other
   * files, and the newest comes first.
   */
  readonly photoTimes: Signal<ReadonlyMap<string, string> | null>;
  /** The path of the entry that has the keyboard focus. */
  readonly focused: Signal<string | null>;
  /** Returns the index of a path in `entries`; -1 if it is not shown. */
  indexOf(path: string): number;
  entryOf(path: string): Entry | undefined;
  /** Shows another folder. */
  open(path: string): void;
  /**
   * Reads the folder again. The page shows its entries until the response arrives. After an error, it shows that the
   * folder is loading. If the session has expired, it shows the sign-in dialog. With `isBackground`, it does neither.
   */
  refresh(options?: RefreshOptions): Promise<void>;
  /** Continues to read a folder whose listing is `paused`. */
  loadMore(): void;
  /** Shows a change that the service has completed. A listing that is being read can lack it. */
  apply(change: Change): void;
  /** Shows a change before the service confirms it. */
  begin(change: Change): PendingChange;
  /** The changes to which the service has not responded yet. */
  pendingChanges(): readonly Change[];
  /** Caches the entries for another path of the folder, so that the page shows them at once when it opens that path. */
  cacheAs(other: string): void;
  /** Returns the known entries of the paths, including those of folders that were shown earlier. */
  knownEntries(paths: readonly string[]): ReadonlyMap<string, Entry>;
}

interface FolderOptions {
  readonly order: ReadonlySignal<Order>;
  readonly compareNames: ReadonlySignal<CompareNames>;
}

export function createFolder(
  service: Pick<Service, 'list'>,
  { order, compareNames }: FolderOptions,
  first: { readonly path: string; readonly response: Listing | ServiceError },
): Folder {
  const path = signal(first.path);
  const previousPath = signal<string | null>(null);
  const filter = signal('');
  const photoTimes = signal<ReadonlyMap<string, string> | null>(null);
  const focused = signal<string | null>(null);
  const cache = createFolderCache();
  const log = createChangeLog(() => compactLog());
  const reader = createFolderReader({
    service,
    path,
    compareNames,
    first: first.response,
    onRefresh() {
      const startedAt = log.now();
      return () => void forgetCommitted(startedAt);
    },
    onIdle: () => compactLog(),
  });
  const { state, problem, listing, entries: read } = reader;

  const changed = (entries: readonly Entry[], changes: readonly Change[], folder: string) =>
    applyChanges(entries, changes, { folder, compareNames: compareNames.peek() });
  /** Removes committed changes from the log, and writes them to the cached folders, which don't contain them yet. */
  const forgetCommitted = (before: number): readonly Change[] => {
    const changes = log.removeCommitted(before);
    if (changes.length > 0) cache.updateAll((entries, folder) => changed(entries, changes, folder));
    return changes;
  };
  /**
   * Writes the changes to the read entries once none of them is pending and all pages are read. Later pages can contain the
   * entries of the changes.
   */
  const compactLog = () => {
    if (reader.isReading || log.hasPending) return;
    // The folder might have failed to load only because the service had not created it yet.
    if (problem.value !== null && log.committed.length > 0) void reader.refresh();
    if (reader.cursor !== undefined) return;
    batch(() => {
      read.value = changed(read.value, forgetCommitted(Number.POSITIVE_INFINITY), path.value);
    });
  };
  const cacheShown = () => {
    if (state.value !== 'ready') cache.delete(path.value);
    else cache.set(path.value, { byName: changed(read.value, log.committed, path.value), cursor: reader.cursor });
  };

  const byName = computed(() => changed(read.value, log.changes.value, path.value));
  const sorted = computed(() =>
    photoTimes.value
      ? sortByTimes(byName.value, photoTimes.value, order.value)
      : sortEntries(byName.value, order.value),
  );
  const entries = computed(() => filterEntries(sorted.value, filter.value));
  const indices = computed(() => new Map(entries.value.map((entry, index) => [entry.path, index])));
  const byPath = computed(() => new Map(byName.value.map((entry) => [entry.path, entry])));

  return {
    path,
    previousPath,
    state,
    problem,
    listing,
    get isReading() {
      return reader.isReading;
    },
    entries,
    all: byName,
    count: computed(() => byName.value.length),
    filter,
    photoTimes,
    focused,
    indexOf: (searched) => indices.value.get(searched) ?? -1,
    entryOf: (searched) => byPath.value.get(searched),
    refresh: reader.refresh,
    loadMore: reader.loadMore,

    open(next) {
      if (next === path.value) return;
      cacheShown();
      batch(() => {
        previousPath.value = path.value;
        path.value = next;
        filter.value = '';
        focused.value = null;
        reader.reset(cache.get(next));
      });
      void reader.refresh();
    },

    apply: (change) => batch(() => log.begin(change).commit()),
    begin: log.begin,
    pendingChanges: () => log.pending,
    cacheAs(other) {
      const copies = byName.value.map((entry) => ({ ...entry, path: other + entry.path.slice(path.value.length) }));
      cache.set(other, { byName: copies, cursor: undefined });
    },

    knownEntries(paths) {
      const searched = new Set(paths);
      const found = new Map<string, Entry>();
      // From the oldest source to the newest, so that the newest entry of a path remains.
      for (const source of [cache.entries(), read.value, byName.value]) {
        for (const entry of source) if (searched.has(entry.path)) found.set(entry.path, entry);
      }
      return found;
    },
  };
}

/**
 * Returns whether users may add entries to the shown folder. The folder must be known to exist, because the service
 * would create a missing one.
 */
export function isWritableTarget({ state, problem }: Pick<Folder, 'state' | 'problem'>): boolean {
  return state.value === 'ready' && !problem.value?.isNotFound;
}

/** The maximum number of entries of a folder that loads quickly. */
const MAX_QUICK_ENTRIES = 5_000;

/** Refreshes the shown folder, except a large one: reading thousands of entries only to update a few takes too long. */
export function refreshUnlessLarge({ count, refresh }: Pick<Folder, 'count' | 'refresh'>): void {
  if (count.value <= MAX_QUICK_ENTRIES) void refresh({ isBackground: true });
}
