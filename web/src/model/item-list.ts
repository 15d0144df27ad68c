import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { asServiceError, isAbort, type ServiceError } from '../platform/service/service-error.ts';

/** An item of a list that the service returns in pages. */
export interface Item {
  readonly id: string;
}

export interface ItemPage<Kind extends Item> {
  readonly items: readonly Kind[];
  /** The position of the next page; undefined on the last one. */
  readonly cursor?: string | undefined;
}

/** The items as far as they are loaded, in the order of the service, and the selection among them. */
export interface ItemList<Kind extends Item> {
  readonly items: ReadonlySignal<readonly Kind[]>;
  /** `ready` also while more items are loading. */
  readonly state: ReadonlySignal<'loading' | 'ready' | 'failed'>;
  /** Why the last request failed; null if it succeeded. */
  readonly problem: ReadonlySignal<ServiceError | null>;
  /** Whether all items are loaded. */
  readonly isComplete: ReadonlySignal<boolean>;
  readonly selected: ReadonlySignal<ReadonlySet<string>>;
  readonly selectedItems: ReadonlySignal<readonly Kind[]>;
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
   * Hides items while `work` removes them, and shows those again that are not among its results. Reads the list again if there
   * are any.
   */
  remove(items: readonly Kind[], work: () => Promise<readonly Kind[]>): Promise<void>;
  /** Aborts the request in progress. */
  end(): void;
}

/** `readPage` throws `ServiceError`, or the `AbortError` of its signal. */
export function createItemList<Kind extends Item>(
  readPage: (options: { cursor: string | undefined; signal: AbortSignal }) => Promise<ItemPage<Kind>>,
): ItemList<Kind> {
  const loaded = signal<readonly Kind[]>([]);
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
  const read = async (before: readonly Kind[], from: string | undefined, count: number): Promise<void> => {
    reading?.abort();
    const controller = new AbortController();
    reading = controller;
    const { signal: aborted } = controller;
    try {
      const found = [...before];
      let next = from;
      do {
        const page = await readPage({ cursor: next, signal: aborted });
        found.push(...page.items);
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
