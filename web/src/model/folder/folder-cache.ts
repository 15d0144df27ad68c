import type { Entry } from '../../platform/service/service.ts';

/** The entries of a folder that were read so far. */
export interface Contents {
  readonly byName: readonly Entry[];
  /** The cursor of the next page; undefined if all pages were read. */
  readonly cursor: string | undefined;
}

/** Caches the folders that were shown last, so that the page shows them at once when the user returns. */
export interface FolderCache {
  get(path: string): Contents | undefined;
  set(path: string, contents: Contents): void;
  delete(path: string): void;
  /** Replaces the entries of each folder by the result of `update`. */
  updateAll(update: (entries: readonly Entry[], folder: string) => readonly Entry[]): void;
  /** Returns the entries of all folders. */
  entries(): readonly Entry[];
}

const MAX_FOLDERS = 8;
const MAX_ENTRIES_PER_FOLDER = 20_000;

export function createFolderCache(): FolderCache {
  const cached = new Map<string, Contents>();
  return {
    get: (path) => cached.get(path),
    set(path, contents) {
      // A map keeps the order of insertion, so its first folder is the oldest.
      cached.delete(path);
      if (contents.byName.length > MAX_ENTRIES_PER_FOLDER) return;
      cached.set(path, contents);
      const [oldest] = cached.keys();
      if (cached.size > MAX_FOLDERS && oldest !== undefined) cached.delete(oldest);
    },
    delete: (path) => void cached.delete(path),
    updateAll(update) {
      for (const [path, contents] of cached) cached.set(path, { ...contents, byName: update(contents.byName, path) });
    },
    entries: () => [...cached.values()].flatMap(({ byName }) => byName),
  };
}
