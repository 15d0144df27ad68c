import { isUtf8 } from 'node:buffer';
import { LRUCache } from 'lru-cache';
import { createSingleFlight } from '../../cache/single-flight.ts';
import { comparePaths, type FilePath, type FolderPath, foundFile, foundFolder, ROOT } from '../../domain/path.ts';
import type { Folder } from './folder.ts';
import { isOwnName, OWN_FOLDER } from './own-folder.ts';

/**
 * What is in a folder, as the folder tells it: paths from there on, in their order. Strings alone: of a hundred thousand
 * files, objects with whole paths would take five times as much memory.
 */
export interface Children {
  readonly names: readonly (FilePath | FolderPath)[];
  /** How many were left out. */
  readonly leftOut: number;
}

/** Names in all folders together that are remembered: some 10 MB. */
const REMEMBERED = 200_000;

/** Milliseconds for which they are: somebody who pages through a folder asks for the next page sooner. */
const TIME_TO_LIVE = 30_000;

/**
 * Milliseconds that a folder has to have been left alone before it is read: changes within the granularity of its
 * time, ten milliseconds at the most, could not be told from the state before them.
 */
const SETTLED = 1_000;

/**
 * Reads the children of folders. Those of a folder that has not changed since are not read and sorted anew: a page of
 * a folder of 100,000 costs what a page costs. Of several who ask at once, one reads them for all.
 */
export function createChildrenReader(): (folder: Folder, path: FolderPath) => Promise<Children> {
  const remembered = new LRUCache<string, Children & { readonly state: string }>({
    maxSize: REMEMBERED,
    sizeCalculation: ({ names }) => names.length + 1,
    ttl: TIME_TO_LIVE,
    ttlAutopurge: true,
  });

  const underWay = createSingleFlight<Children>();

  return async (folder, path) => {
    const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs } = await folder.stats();
    const state = `${dev} ${ino} ${mtimeNs} ${ctimeNs}`;
    const known = remembered.get(path);
    if (known?.state === state) return known;
    const read = () => readChildren(folder, path, { isLarge: size > LARGE });
    if (Date.now() - Number(mtimeMs) < SETTLED) return read();
    return underWay.run(`${path} ${state}`, async () => {
      const found = await read();
      remembered.set(path, { ...found, state });
      return found;
    });
  };
}

/** Bytes that a folder takes on the disk, from which on it has thousands of names: reading them is left to a thread. */
const LARGE = 256 * 1024;

async function readChildren(folder: Folder, path: FolderPath, options: { isLarge: boolean }): Promise<Children> {
  const names: (FilePath | FolderPath)[] = [];
  let leftOut = 0;
  await folder.readNames(options, (entry) => {
    const name = entry.name.toString();
    if (path === ROOT && name === OWN_FOLDER) return;
    const isAddressable = isUtf8(entry.name) && !(path === ROOT && isOwnName(name));
    const child = isAddressable ? nameOfChild(path, name, entry) : undefined;
    if (child === undefined) leftOut++;
    else names.push(child);
  });
  return { names: names.toSorted(comparePaths), leftOut };
}

function nameOfChild(
  folder: FolderPath,
  name: string,
  entry: { isFile(): boolean; isDirectory(): boolean },
): FilePath | FolderPath | undefined {
  if (entry.isDirectory()) return foundFolder(folder, name) && foundFolder(ROOT, name);
  return entry.isFile() ? foundFile(folder, name) && foundFile(ROOT, name) : undefined;
}
