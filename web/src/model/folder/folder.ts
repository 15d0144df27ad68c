import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Order } from '../../platform/preferences.ts';
import type { Entry, Listing, Service } from '../../platform/service/service.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import { type Change, createChangeLog, type PendingChange, withChanges } from './change-log.ts';
import { type Contents, createKeptFolders } from './folder-cache.ts';
import { type CompareNames, filtered, inOrder, mergeByName } from './order.ts';

/** The folder that is shown, and what is in it. */
export interface Folder {
  readonly path: ReadonlySignal<string>;
  /** The folder that was shown before this one; null for the first. */
  readonly cameFrom: ReadonlySignal<string | null>;
  /** `loading` until the first page is there; `failed` where it did not come. */
  readonly state: ReadonlySignal<'loading' | 'ready' | 'failed'>;
  /** Why the folder, or its last refresh, could not be read. */
  readonly problem: ReadonlySignal<ServiceError | null>;
  /** Whether all entries are there; `paused` where there are so many that a person is asked before more are read. */
  readonly listing: ReadonlySignal<'partial' | 'complete' | 'paused'>;
  /** What is shown: in order, and filtered. */
  readonly entries: ReadonlySignal<readonly Entry[]>;
  /** How many there are without the filter. */
  readonly count: ReadonlySignal<number>;
  readonly filter: Signal<string>;
  /** The entry that the keyboard is at; null where there is none. */
  readonly focused: Signal<string | null>;
  /** The place of a path among `entries`; -1 where it is not shown. */
  indexOf(path: string): number;
  entryOf(path: string): Entry | undefined;
  /** Shows another folder. */
  open(path: string): void;
  /**
   * Reads the folder again; what is shown stays until the answer is there. Where that is a problem, the folder is shown
   * as being read, unless it is done `quietly`.
   */
  refresh(options?: { quietly?: boolean }): Promise<void>;
  /** Reads on where it was `paused`. */
  readOn(): void;
  /** Shows a change that the service has done, which what is being read now may not know of. */
  apply(change: Change): void;
  /** Shows a change before the service has done it, on top of all that is read until then. */
  begin(change: Change): PendingChange;
  /** What is known of paths, also where they are in a folder that was shown before. */
  recall(paths: readonly string[]): ReadonlyMap<string, Entry>;
}

/** Entries after which a person is asked whether to read on. */
const PAUSE_AFTER = 200_000;

export function createFolder(
  service: Service,
  { order, compareNames }: { order: ReadonlySignal<Order>; compareNames: ReadonlySignal<CompareNames> },
  first: { readonly path: string; readonly answer: Listing | ServiceError },
): Folder {
  const path = signal(first.path);
  const cameFrom = signal<string | null>(null);
  const state = signal<'loading' | 'ready' | 'failed'>('loading');
  const problem = signal<ServiceError | null>(null);
  const listing = signal<'partial' | 'complete' | 'paused'>('partial');
  /** As it was read; what is shown has the changes since on top. */
  const read = signal<readonly Entry[]>([]);
  const filter = signal('');
  const focused = signal<string | null>(null);
  const kept = createKeptFolders();
  let cursor: string | undefined;
  let pauseAfter = PAUSE_AFTER;
  let reading = new AbortController();
  let isReading = false;
  let startedAt = 0;

  const log = createChangeLog(() => takeIn());
  const changed = (entries: readonly Entry[], changes: readonly Change[], folder: string) =>
    withChanges(entries, changes, { folder, compareNames: compareNames.peek() });
  const byName = computed(() => changed(read.value, log.changes.value, path.value));

  const ordered = computed(() => inOrder(byName.value, order.value));
  const entries = computed(() => filtered(ordered.value, filter.value));
  const indices = computed(() => new Map(entries.value.map((entry, index) => [entry.path, index])));
  const byPath = computed(() => new Map(byName.value.map((entry) => [entry.path, entry])));

  const show = (contents: Contents) =>
    batch(() => {
      read.value = contents.byName;
      cursor = contents.cursor;
      state.value = 'ready';
      problem.value = null;
      listing.value = contents.cursor === undefined ? 'complete' : 'partial';
    });
  const fail = (error: unknown) => {
    if (isAbort(error)) return;
    batch(() => {
      problem.value = asServiceError(error);
      if (state.value === 'loading') state.value = 'failed';
    });
  };

  /** What was kept of other folders does not know of changes that are forgotten. */
  const forgetBefore = (moment: number): readonly Change[] => {
    const changes = log.forgetBefore(moment);
    if (changes.length === 0) return changes;
    kept.change((inside, folder) => changed(inside, changes, folder));
    return changes;
  };
  /** Makes the changes a part of what was read, once they are all done and nothing is being read. */
  const takeIn = () => {
    if (isReading || log.isWaiting) return;
    // What could not be read may have been on its way: a folder that was opened before the service had made it.
    if (problem.value !== null && log.done.length > 0) void refresh();
    batch(() => {
      read.value = changed(read.value, forgetBefore(Number.POSITIVE_INFINITY), path.value);
    });
  };

  /** Reads the pages that are still missing, one after the other, and shows each as it comes. */
  const readRest = async (leaving: AbortSignal) => {
    while (cursor !== undefined && !leaving.aborted) {
      if (read.value.length >= pauseAfter) {
        listing.value = 'paused';
        return;
      }
      const page = await service.list(path.value, { cursor, signal: leaving });
      if (leaving.aborted) return;
      show({ byName: mergeByName(read.value, page.entries, compareNames.peek()), cursor: page.cursor });
    }
  };

  /** Whatever was being read before is of no interest any more. */
  const startReading = async (work: (leaving: AbortSignal) => Promise<void>) => {
    reading.abort();
    const ours = new AbortController();
    reading = ours;
    isReading = true;
    startedAt = log.now();
    try {
      await work(ours.signal);
    } catch (error) {
      if (reading === ours) fail(error);
    }
    if (reading !== ours) return;
    isReading = false;
    takeIn();
  };

  const refresh = ({ quietly = false }: { quietly?: boolean } = {}) =>
    startReading(async (leaving) => {
      const isFirst = state.value !== 'ready';
      if (state.value === 'failed' && !quietly) state.value = 'loading';
      const page = await service.list(path.value, { signal: leaving });
      let contents: Contents = contentsOf(page, compareNames.peek());
      // A folder that is shown in whole stays so: its first page alone would have it shrink and grow again.
      while (!isFirst && contents.cursor !== undefined && contents.byName.length < read.value.length) {
        const next = await service.list(path.value, { cursor: contents.cursor, signal: leaving });
        contents = {
          byName: mergeByName(contents.byName, next.entries, compareNames.peek()),
          cursor: next.cursor,
        };
      }
      if (leaving.aborted) return;
      batch(() => {
        forgetBefore(startedAt);
        show(contents);
      });
      await readRest(leaving);
    });

  const keep = () => {
    if (state.value !== 'ready') kept.forget(path.value);
    else kept.keep(path.value, { byName: changed(read.value, log.done, path.value), cursor });
  };

  if (first.answer instanceof Error) {
    state.value = 'failed';
    problem.value = first.answer;
  } else {
    show(contentsOf(first.answer, compareNames.peek()));
    void startReading(readRest);
  }
  // Another language has another order.
  let orderedBy = compareNames.peek();
  effect(() => {
    if (compareNames.value === orderedBy) return;
    orderedBy = compareNames.value;
    read.value = mergeByName([], read.peek(), orderedBy);
  });

  return {
    path,
    cameFrom,
    state,
    problem,
    listing,
    entries,
    count: computed(() => byName.value.length),
    filter,
    focused,
    indexOf: (wanted) => indices.value.get(wanted) ?? -1,
    entryOf: (wanted) => byPath.value.get(wanted),
    refresh,

    open(next) {
      if (next === path.value) return;
      keep();
      const known = kept.get(next);
      batch(() => {
        cameFrom.value = path.value;
        path.value = next;
        filter.value = '';
        focused.value = null;
        problem.value = null;
        pauseAfter = PAUSE_AFTER;
        state.value = 'loading';
        listing.value = 'partial';
        if (known) show(known);
        else read.value = [];
      });
      void refresh();
    },

    readOn() {
      pauseAfter = read.value.length + PAUSE_AFTER;
      listing.value = 'partial';
      void startReading(readRest);
    },

    apply: (change) => batch(() => log.begin(change).settle()),
    begin: log.begin,

    recall(paths) {
      const wanted = new Set(paths);
      const found = new Map<string, Entry>();
      // What is shown knows better than what was read, and that better than what was kept.
      for (const known of [kept.entries(), read.value, byName.value]) {
        for (const entry of known) if (wanted.has(entry.path)) found.set(entry.path, entry);
      }
      return found;
    },
  };
}

function contentsOf(page: Listing, compareNames: CompareNames): Contents {
  return { byName: mergeByName([], page.entries, compareNames), cursor: page.cursor };
}
