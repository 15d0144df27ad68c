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
  const chosen = signal<ReadonlySet<string>>(new Set());
  let anchor: string | null = null;

  const paths = computed(() => {
    if (chosen.value.size === 0) return chosen.value;
    void folder.entries.value;
    const shown = [...chosen.value].filter((path) => folder.indexOf(path) >= 0);
    return shown.length === chosen.value.size ? chosen.value : new Set(shown);
  });
  effect(() => {
    chosen.value = paths.value;
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
      chosen.value = new Set([path]);
    },
    toggle(path) {
      anchor = path;
      const next = new Set(paths.value);
      if (!next.delete(path)) next.add(path);
      chosen.value = next;
    },
    extendTo(path, isAdded = false) {
      const end = folder.indexOf(path);
      const begin = anchor === null ? end : folder.indexOf(anchor);
      if (end < 0) return;
      if (anchor === null || begin < 0) anchor = path;
      const [low, high] = begin < 0 ? [end, end] : [Math.min(begin, end), Math.max(begin, end)];
      const range = folder.entries.value.slice(low, high + 1).map((entry) => entry.path);
      chosen.value = new Set([...(isAdded ? paths.value : []), ...range]);
    },
    set(wanted) {
      chosen.value = new Set(wanted);
    },
    all() {
      chosen.value = new Set(folder.entries.value.map((entry) => entry.path));
    },
    clear() {
      if (chosen.value.size > 0) chosen.value = new Set();
    },
  };
}
