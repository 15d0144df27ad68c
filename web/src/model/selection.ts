import { computed, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Entry } from '../platform/service/service.ts';
import type { Folder } from './folder/folder.ts';

/** The selected entries of the folder. An entry that is removed or filtered out is deselected permanently. */
export interface Selection {
  readonly paths: ReadonlySignal<ReadonlySet<string>>;
  /** The selected entries, in display order. */
  readonly entries: ReadonlySignal<readonly Entry[]>;
  readonly count: ReadonlySignal<number>;
  /** Entries to highlight for a moment; the view scrolls to the first of a new set. */
  readonly revealed: Signal<ReadonlySet<string>>;
  /** Selects only this entry and makes it the start of later ranges. */
  only(path: string): void;
  toggle(path: string): void;
  /** Selects the range up to this entry. With `isAdded`, keeps the existing selection. */
  extendTo(path: string, isAdded?: boolean): void;
  set(paths: Iterable<string>): void;
  all(): void;
  clear(): void;
}

export function createSelection(folder: Folder): Selection {
  const selected = signal<ReadonlySet<string>>(new Set());
  let anchor: string | null = null;

  const paths = computed(() => {
    if (selected.value.size === 0) return selected.value;
    const shown = [...selected.value].filter((path) => folder.indexOf(path) >= 0);
    return shown.length === selected.value.size ? selected.value : new Set(shown);
  });
  effect(() => {
    selected.value = paths.value;
  });
  const entries = computed(() =>
    paths.value.size === 0 ? [] : folder.entries.value.filter((entry) => paths.value.has(entry.path)),
  );

  return {
    paths,
    entries,
    count: computed(() => paths.value.size),
    revealed: signal<ReadonlySet<string>>(new Set()),
    only(path) {
      anchor = path;
      selected.value = new Set([path]);
    },
    toggle(path) {
      anchor = path;
      const next = new Set(paths.value);
      if (!next.delete(path)) next.add(path);
      selected.value = next;
    },
    extendTo(path, isAdded = false) {
      const end = folder.indexOf(path);
      const start = anchor === null ? end : folder.indexOf(anchor);
      if (end < 0) return;
      if (anchor === null || start < 0) anchor = path;
      const [first, last] = start < 0 ? [end, end] : [Math.min(start, end), Math.max(start, end)];
      const range = folder.entries.value.slice(first, last + 1).map((entry) => entry.path);
      selected.value = new Set([...(isAdded ? paths.value : []), ...range]);
    },
    set(next) {
      selected.value = new Set(next);
    },
    all() {
      selected.value = new Set(folder.entries.value.map((entry) => entry.path));
    },
    clear() {
      if (selected.value.size > 0) selected.value = new Set();
    },
  };
}
