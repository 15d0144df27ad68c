import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Service } from '../../platform/service/service.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import { listTrash, type TrashedItem } from '../../platform/service/trash.ts';

/** The items of the trash as far as they are loaded, the newest first, and the selection among them. */
export interface TrashList {
  readonly items: ReadonlySignal<readonly TrashedItem[]>;
  /** `ready` also while more items are loading. */
  readonly state: ReadonlySignal<'loading' | 'ready' | 'failed'>;
  /** Why the last request failed; null if it succeeded. */
  readonly problem: ReadonlySignal<ServiceError | null>;
  /** Whether all items are loaded. */
  readonly isComplete: ReadonlySignal<boolean>;
  readonly selected: ReadonlySignal<ReadonlySet<string>>;
  readonly selectedItems: ReadonlySignal<readonly TrashedItem[]>;
  /** The id of the item that has the keyboard focus. */
  readonly focused: Signal<string | null>;
  /** Returns the index of an id in `items`; -1 if it is not shown. */
  indexOf(id: string): number;
  /** Reads as many items again as are loaded, and shows the previous ones until the response arrives. */
  refresh(): Promise<void>;
  /** Reads the next page, unless a request is in progress. */
  loadMore(): Promise<void>;
  /** Selects only this item, and makes it the start of later ranges. */
  selectOnly(id: string): void;
  toggle(id: string): void;
  /** Selects the range from the last selected item to this one. */
  extendTo(id: string): void;
  /** Selects all loaded items. */
  selectAll(): void;
  clearSelection(): void;
  /**
   * Hides items while `work` removes them from the trash, and shows those again that are not among its results. Reads the
   * trash again if there are any.
   */
  remove(items: readonly TrashedItem[], work: () => Promise<readonly TrashedItem[]>): Promise<void>;
  /** Aborts the request in progress. */
  end(): void;
}

export function createTrashList(service: Pick<Service, 'send'>): TrashList {
  const loaded = signal<readonly TrashedItem[]>([]);
  const hidden = signal<ReadonlySet<string>>(new Set());
  const state = signal<'loading' | 'ready' | 'failed'>('loading');
  const problem = signal<ServiceError | null>(null);
  const cursor = signal<string | undefined>(undefined);
  const chosen = signal<ReadonlySet<string>>(new Set());
  const focused = signal<string | null>(null);
  let anchor: string | null = null;
  /** The request in progress. A newer one replaces it. */
  let reading: AbortController | undefined;

  const items = computed(() =>
    hidden.value.size === 0 ? loaded.value : loaded.value.filter(({ id }) => !hidden.value.has(id)),
  );
  const indices = computed(() => new Map(items.value.map(({ id }, index) => [id, index])));
  const indexOf = (id: string) => indices.value.get(id) ?? -1;
  const selected = computed(() => new Set([...chosen.value].filter((id) => indices.value.has(id))));

  /** Reads pages after `before` until there are `count` items, or no more. */
  const read = async (before: readonly TrashedItem[], from: string | undefined, count: number): Promise<void> => {
    reading?.abort();
    const controller = new AbortController();
    reading = controller;
    const { signal: aborted } = controller;
    try {
      const found = [...before];
      let next = from;
      do {
        const page = await listTrash(service, { cursor: next, signal: aborted });
        found.push(...page.entries);
        next = page.cursor;
      } while (next !== undefined && found.length < count);
      if (aborted.aborted) return;
      batch(() => {
        loaded.value = found;
        cursor.value = next;
        state.value = 'ready';
        problem.value = null;
      });
    } catch (error) {
      if (isAbort(error) || aborted.aborted) return;
      batch(() => {
        if (state.value === 'loading') state.value = 'failed';
        problem.value = asServiceError(error);
      });
    } finally {
      if (reading === controller) reading = undefined;
    }
  };
  const refresh = () => {
    if (state.value === 'failed') state.value = 'loading';
    return read([], undefined, loaded.value.length);
  };

  return {
    items,
    state,
    problem,
    isComplete: computed(() => state.value === 'ready' && cursor.value === undefined),
    selected,
    selectedItems: computed(() => items.value.filter(({ id }) => selected.value.has(id))),
    focused,
    indexOf,
    refresh,
    async loadMore() {
      if (reading || cursor.value === undefined) return;
      await read(loaded.value, cursor.value, loaded.value.length + 1);
    },
    selectOnly(id) {
      anchor = id;
      chosen.value = new Set([id]);
    },
    toggle(id) {
      anchor = id;
      const next = new Set(selected.value);
      if (!next.delete(id)) next.add(id);
      chosen.value = next;
    },
    extendTo(id) {
      const end = indexOf(id);
      const start = anchor === null ? end : indexOf(anchor);
      if (end < 0) return;
      const [first, last] = start < 0 ? [end, end] : [Math.min(start, end), Math.max(start, end)];
      chosen.value = new Set(items.value.slice(first, last + 1).map((item) => item.id));
    },
    selectAll() {
      chosen.value = new Set(items.value.map(({ id }) => id));
    },
    clearSelection() {
      if (chosen.value.size > 0) chosen.value = new Set();
    },
    async remove(removed, work) {
      const ids = removed.map(({ id }) => id);
      hidden.value = new Set([...hidden.value, ...ids]);
      const done = await work();
      const gone = new Set(done.map(({ id }) => id));
      batch(() => {
        loaded.value = loaded.value.filter(({ id }) => !gone.has(id));
        hidden.value = hidden.value.difference(new Set(ids));
      });
      if (done.length < removed.length) await refresh();
    },
    end: () => reading?.abort(),
  };
}
