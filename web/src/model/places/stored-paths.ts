import { effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { remapPath } from '../clipboard.ts';

/** A path that this browser remembers, and when the user last used it. */
export interface StoredPath {
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly time: number;
}

/** Paths in the storage of this browser, for one service and one user. */
export interface StoredPaths {
  /** The newest first. */
  readonly items: ReadonlySignal<readonly StoredPath[]>;
  /** Adds a path at the start, and removes the oldest ones above the limit. */
  add(path: string): void;
  remove(path: string): void;
  /** Replaces the paths of renamed and moved entries, and of everything in renamed and moved folders. */
  remapPaths(newPaths: ReadonlyMap<string, string>): void;
}

export interface StoredPathsOptions {
  readonly storage: Storage | undefined;
  /** The key in the storage. Another user has another one. Reads signals. */
  readonly key: () => string;
  readonly limit: number;
  /** Reports changes of the storage by other tabs. */
  readonly tabs: Pick<Window, 'addEventListener'>;
  readonly now?: () => number;
}

export function createStoredPaths({ storage, key, limit, tabs, now = Date.now }: StoredPathsOptions): StoredPaths {
  const items: Signal<readonly StoredPath[]> = signal([]);
  let current = '';
  const load = () => {
    items.value = parse(readItem(storage, current)).slice(0, limit);
  };
  effect(() => {
    current = key();
    load();
  });
  // Another tab has changed the list. Without a key, it has cleared the storage.
  tabs.addEventListener('storage', ({ key: changed }) => {
    if (changed === current || changed === null) load();
  });
  const set = (next: readonly StoredPath[]) => {
    items.value = next.slice(0, limit);
    // If the storage is full or denied, the list remains until the page is closed.
    try {
      storage?.setItem(current, JSON.stringify(items.value.map(({ path, time }) => [path, time])));
    } catch {}
  };
  const without = (path: string) => items.peek().filter((item) => item.path !== path);

  return {
    items,
    add: (path) => set([{ path, time: now() }, ...without(path)]),
    remove: (path) => set(without(path)),
    remapPaths(newPaths) {
      const before = items.peek();
      const after = before.map((item) => ({ ...item, path: remapPath(item.path, newPaths) }));
      if (after.every(({ path }, index) => path === before[index]?.path)) return;
      set(after.filter(({ path }, index) => after.findIndex((other) => other.path === path) === index));
    },
  };
}

function readItem(storage: Storage | undefined, key: string): string | null {
  try {
    return storage?.getItem(key) ?? null;
  } catch {
    return null;
  }
}

/** The maximum length of a path, in UTF-16 code units. The storage is open to other pages of the origin. */
const MAX_PATH_LENGTH = 1024;

/** Parses a stored list. Ignores invalid items. */
function parse(text: string | null): readonly StoredPath[] {
  const found = new Map<string, StoredPath>();
  for (const item of parseArray(text)) {
    if (!Array.isArray(item)) continue;
    const [path, time]: readonly unknown[] = item;
    if (typeof path !== 'string' || typeof time !== 'number' || !Number.isFinite(time)) continue;
    if (path.length <= MAX_PATH_LENGTH && !found.has(path)) found.set(path, { path, time });
  }
  return [...found.values()];
}

function parseArray(text: string | null): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}
