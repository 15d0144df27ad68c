import assert from 'node:assert/strict';
import type { Change } from '../../src/model/change.ts';
import {
  type FilePath,
  type FolderPath,
  isFolder,
  isWithin,
  MAX_PATH_BYTES,
  parentOf,
  ROOT,
  rebase,
} from '../../src/model/path.ts';

/** The path of a file with its size and ETag, or the path of a folder with ''. */
export type ReplayedEntry = readonly [path: string, value: string];

/** The files that result from the changes of a log. */
export class ReplayedFiles {
  readonly #entries = new Map<string, string>();

  /** Throws if a change does not contain its result. */
  apply({ type, path, from, size, etag }: Pick<Change, 'type' | 'path' | 'from' | 'size' | 'etag'>): void {
    if (type === 'folder.changed' || type === 'folder.restored' || type === 'resync') return assert.fail(type);
    if (type === 'file.deleted' || type === 'folder.deleted') return this.#remove(path);
    const moved = from === undefined ? [] : this.#below(from);
    if (type === 'file.moved' || type === 'folder.moved') this.#remove(from ?? path);
    if (from !== undefined) this.#remove(path);
    this.#createFolder(isFolder(path) ? path : parentOf(path));
    if (!isFolder(path)) {
      const source = moved[0]?.[1] ?? '';
      this.#entries.set(path, type === 'file.moved' ? source : describeContent(size, etag));
      return;
    }
    for (const [source, value] of moved) {
      this.#entries.set(rebase(source as FilePath, from as FolderPath, path, MAX_PATH_BYTES), value);
    }
  }

  /** Returns everything, in the order of `sortEntries`. */
  entries(): ReplayedEntry[] {
    return sortEntries([...this.#entries]);
  }

  #createFolder(path: FolderPath): void {
    for (let each = path; each !== ROOT; each = parentOf(each)) this.#entries.set(each, '');
  }

  #below(path: FilePath | FolderPath): ReplayedEntry[] {
    const isBelow = (each: string) => (isFolder(path) ? isWithin(each as FilePath, path) : each === path);
    return [...this.#entries].filter(([each]) => isBelow(each));
  }

  #remove(path: FilePath | FolderPath): void {
    for (const [each] of this.#below(path)) this.#entries.delete(each);
  }
}

/** Returns the value of a file for a `ReplayedEntry`. */
export const describeContent = (size: number | undefined, etag: string | undefined) => `${size} ${etag}`;

export function sortEntries(entries: readonly ReplayedEntry[]): ReplayedEntry[] {
  return entries.toSorted(([left], [right]) => (left < right ? -1 : Number(left > right)));
}
