import { type ObjectStore, typeOf } from './objects.ts';

/** A tree with changes. */
export interface Folder {
  /** The original tree; undefined for a new one. */
  readonly sha: string | undefined;
  /** Entries by name, encoded as in `TreeEntry`. Null until the folder is opened. */
  entries: Map<string, Folder | { readonly mode: string; readonly sha: string }> | null;
}

export function folderOf(sha?: string): Folder {
  return { sha, entries: null };
}

export function isFolder(entry: Folder | { readonly mode: string }): entry is Folder {
  return 'entries' in entry;
}

export async function openFolder(objects: ObjectStore, folder: Folder): Promise<NonNullable<Folder['entries']>> {
  if (folder.entries) return folder.entries;
  const present = folder.sha === undefined ? [] : await objects.readTree(folder.sha);
  const entries: NonNullable<Folder['entries']> = new Map();
  for (const { name, mode, sha } of present) {
    entries.set(name, typeOf(mode) === 'tree' ? folderOf(sha) : { mode, sha });
  }
  folder.entries = entries;
  return entries;
}

/** Writes the changed trees and returns the SHA; undefined for an empty folder. */
export async function writeFolder(objects: ObjectStore, folder: Folder): Promise<string | undefined> {
  if (!folder.entries) return folder.sha;
  const written = await Promise.all(
    [...folder.entries].map(async ([name, entry]) => {
      if (!isFolder(entry)) return { name, ...entry };
      const sha = await writeFolder(objects, entry);
      return sha === undefined ? [] : { name, mode: '040000', sha };
    }),
  );
  const entries = written.flat();
  return entries.length === 0 ? undefined : await objects.writeTree(entries);
}
