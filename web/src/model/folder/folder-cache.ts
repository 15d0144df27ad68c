import type { Entry } from '../../platform/service/service.ts';

/** What was read of one folder. */
export interface Contents {
  readonly byName: readonly Entry[];
  /** Where the listing goes on; undefined at its end. */
  readonly cursor: string | undefined;
}

/** The folders that were shown last, so that one who comes back to them sees them at once. */
export interface KeptFolders {
  get(path: string): Contents | undefined;
  keep(path: string, contents: Contents): void;
  forget(path: string): void;
  /** Makes of the entries of each what `change` makes of them. */
  change(change: (entries: readonly Entry[], folder: string) => readonly Entry[]): void;
  /** All entries of all of them. */
  entries(): readonly Entry[];
}

/** Folders that are kept. */
const FOLDERS = 8;
/** The most entries of one. */
const ENTRIES = 20_000;

export function createKeptFolders(): KeptFolders {
  const kept = new Map<string, Contents>();
  return {
    get: (path) => kept.get(path),
    keep(path, contents) {
      kept.delete(path);
      if (contents.byName.length > ENTRIES) return;
      kept.set(path, contents);
      const [oldest] = kept.keys();
      if (kept.size > FOLDERS && oldest !== undefined) kept.delete(oldest);
    },
    forget: (path) => void kept.delete(path),
    change(change) {
      for (const [path, contents] of kept) kept.set(path, { ...contents, byName: change(contents.byName, path) });
    },
    entries: () => [...kept.values()].flatMap(({ byName }) => byName),
  };
}
