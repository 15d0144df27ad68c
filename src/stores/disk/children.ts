import { isUtf8 } from 'node:buffer';
import { LRUCache } from 'lru-cache';
import { comparePaths, type FilePath, type FolderPath, foundFile, foundFolder, ROOT } from '../../domain/path.ts';
import { type Folder, OWN_FOLDER } from './root.ts';

/** A child as its folder tells it: of a file, nothing but the name is known yet. */
export type Child =
  | { readonly kind: 'file'; readonly path: FilePath; readonly name: string }
  | { readonly kind: 'folder'; readonly path: FolderPath; readonly name: string };

/** The children of a folder, in the order of their paths, and how many were left out. */
export interface Children {
  readonly children: readonly Child[];
  readonly leftOut: number;
}

/** Children of all folders together that are remembered: some 40 MB. */
const REMEMBERED = 200_000;

/** Milliseconds for which they are: somebody who pages through a folder asks for the next page sooner. */
const TIME_TO_LIVE = 30_000;

/**
 * Milliseconds that a folder has to have been left alone before it is read: changes within the granularity of its
 * time, a few milliseconds, could not be told from the state before them.
 */
const SETTLED = 1_000;

/**
 * Reads the children of folders. Those of a folder that has not changed since are not read and sorted anew: a page of
 * a folder of 100,000 costs what a page costs.
 */
export function createChildrenReader(): (folder: Folder, path: FolderPath) => Promise<Children> {
  const remembered = new LRUCache<string, Children & { readonly state: string }>({
    maxSize: REMEMBERED,
    sizeCalculation: ({ children }) => children.length + 1,
    ttl: TIME_TO_LIVE,
    ttlAutopurge: true,
  });

  return async (folder, path) => {
    const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs } = await folder.stats();
    const state = `${dev} ${ino} ${mtimeNs} ${ctimeNs}`;
    const known = remembered.get(path);
    if (known?.state === state) return known;
    const isSettled = Date.now() - Number(mtimeMs) > SETTLED;
    const found = await readChildren(folder, path, { isLarge: size > LARGE });
    if (isSettled) remembered.set(path, { ...found, state });
    return found;
  };
}

/** Bytes that a folder takes on the disk, from which on it has thousands of names: reading them is left to a thread. */
const LARGE = 256 * 1024;

async function readChildren(folder: Folder, path: FolderPath, options: { isLarge: boolean }): Promise<Children> {
  const children: Child[] = [];
  let leftOut = 0;
  for (const entry of await folder.readNames(options)) {
    const name = entry.name.toString();
    if (path === ROOT && name === OWN_FOLDER) continue;
    const child = isUtf8(entry.name) && childOf(path, name, entry);
    if (child) children.push(child);
    else leftOut++;
  }
  return { children: children.toSorted((left, right) => comparePaths(left.path, right.path)), leftOut };
}

function childOf(
  folder: FolderPath,
  name: string,
  entry: { isFile(): boolean; isDirectory(): boolean },
): Child | undefined {
  if (entry.isDirectory()) {
    const path = foundFolder(folder, name);
    return path === undefined ? undefined : { kind: 'folder', path, name };
  }
  const path = entry.isFile() ? foundFile(folder, name) : undefined;
  return path === undefined ? undefined : { kind: 'file', path, name };
}
