import { isUtf8 } from 'node:buffer';
import { LRUCache } from 'lru-cache';
import { createSingleFlight } from '../../cache/single-flight.ts';
import { type FolderPath, foundFile, foundFolder, ROOT } from '../../domain/path.ts';
import type { Folder } from './folder.ts';
import { isOwnName, OWN_FOLDER } from './own-folder.ts';
import { type PackedNames, packNames } from './packed-names.ts';

/** The children of a folder. */
export interface Children {
  /** Paths relative to the folder, in the order of listings. */
  readonly names: PackedNames;
  /** How many entries of the folder were left out. */
  readonly leftOut: number;
}

/** Bytes of the names of all folders that are cached: some two million names. */
const CACHE_SIZE = 64 * 1024 * 1024;

/** Milliseconds after the last page for which names are cached. A client that pages through a folder asks sooner. */
const TIME_TO_LIVE = 30_000;

/**
 * Milliseconds that a folder must have been unchanged before its names are cached. Its time has a granularity of up to
 * 10 ms: a later change within that would not show.
 */
const SETTLED = 1_000;

/**
 * Reads the children of folders. The names of an unchanged folder are cached, so that a page of a folder of a million
 * costs what any page costs. Requests at the same time share one read.
 */
export function createChildrenReader(): (folder: Folder, path: FolderPath) => Promise<Children> {
  const cache = new LRUCache<string, Children & { readonly state: string }>({
    maxSize: CACHE_SIZE,
    // Each folder also has a path, and objects around its names.
    sizeCalculation: ({ names }) => names.size + 1000,
    ttl: TIME_TO_LIVE,
    ttlAutopurge: true,
    updateAgeOnGet: true,
  });

  const underWay = createSingleFlight<Children>();

  return async (folder, path) => {
    const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs } = await folder.stats();
    const state = `${dev} ${ino} ${mtimeNs} ${ctimeNs}`;
    const known = cache.get(path);
    if (known?.state === state) return known;
    const read = () => readChildren(folder, path, { isLarge: size > LARGE });
    if (Date.now() - Number(mtimeMs) < SETTLED) return read();
    return underWay.run(`${path} ${state}`, async () => {
      const found = await read();
      cache.set(path, { ...found, state });
      return found;
    });
  };
}

/** Bytes of a folder on the disk above which it has thousands of names. Threads read such a folder. */
const LARGE = 256 * 1024;

async function readChildren(folder: Folder, path: FolderPath, options: { isLarge: boolean }): Promise<Children> {
  const names: string[] = [];
  let leftOut = 0;
  await folder.readNames(options, (entry) => {
    const name = entry.name.toString();
    if (path === ROOT && name === OWN_FOLDER) return;
    const isAddressable = isUtf8(entry.name) && !(path === ROOT && isOwnName(name));
    const suffix = isAddressable ? suffixOfChild(path, name, entry) : undefined;
    if (suffix === undefined) leftOut++;
    else names.push(entry.name.toString('latin1') + suffix);
  });
  return { names: await packNames(names), leftOut };
}

/** What follows the name of an entry in its path: `/` for a folder. Undefined if no path can name the entry. */
function suffixOfChild(
  folder: FolderPath,
  name: string,
  entry: { isFile(): boolean; isDirectory(): boolean },
): '' | '/' | undefined {
  if (entry.isDirectory()) return foundFolder(folder, name) && '/';
  return entry.isFile() && foundFile(folder, name) !== undefined ? '' : undefined;
}
