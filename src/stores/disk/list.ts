import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { createSingleFlight } from '../../concurrency/single-flight.ts';
import { type FilePath, type FolderPath, foundFile, foundFolder, nameOf, ROOT } from '../../model/path.ts';
import { type Entry, MAX_OMITTED_NAMES, type Store } from '../../model/store.ts';
import { toStoreError } from './errors.ts';
import type { Folder } from './folder.ts';
import { RecentPages } from './recent-pages.ts';
import type { DiskLog } from './recovery.ts';
import { isReservedName, isStagingName, RESERVED_FOLDER } from './reserved-names.ts';
import type { Root } from './root.ts';
import type { NamedEntry } from './syscalls.ts';

/**
 * Lists folders. Omits entries that no path can name (not UTF-8, or an invalid name) and those that are neither files
 * nor folders (symbolic links, devices). Logs the number of omitted entries.
 */
export function createLister(root: Root, log: Pick<DiskLog, 'warn'>): Store['list'] {
  const readCachedChildren = createChildrenReader(root.maxPathBytes);
  const pages = new RecentPages();
  return async (path, { cursor, limit, checkReadable = false } = {}) => {
    try {
      await using folder = await root.openFolder(path);
      const { names, omitted, omittedNames } = await readCachedChildren(folder, path);
      if (omitted > 0) {
        log.warn('A listing omits entries that no path can name, or that are neither files nor folders.', {
          folder: path,
          omitted,
        });
      }
      const found = await pages.list(folder, path, names, { cursor, limit });
      const page = checkReadable ? { ...found, entries: await withReadability(folder, found.entries) } : found;
      return omittedNames.length > 0 && cursor === undefined ? { ...page, omitted: omittedNames } : page;
    } catch (error) {
      throw toStoreError(error, path);
    }
  };
}

/**
 * Marks the files that the system might not permit to read. Modes don't tell: ACLs, capabilities, user namespaces, security modules
 * and servers of network file systems can forbid it too.
 */
async function withReadability(folder: Folder, entries: readonly Entry[]): Promise<readonly Entry[]> {
  const files = entries.filter(({ kind }) => kind === 'file');
  const areReadable = await folder.areReadable(files.map(({ path }) => nameOf(path)));
  const unreadable = new Set<Entry>(files.filter((_, index) => areReadable[index] !== true));
  if (unreadable.size === 0) return entries;
  return entries.map((entry) =>
    entry.kind === 'file' && unreadable.has(entry) ? { ...entry, mayBeUnreadable: true } : entry,
  );
}

/** The children of a folder. */
export interface Children {
  /** Paths relative to the folder, in the order of listings. */
  readonly names: PackedNames;
  /** Number of omitted entries. */
  readonly omitted: number;
  /** The names of omitted files and folders, at most `MAX_OMITTED_NAMES`. */
  readonly omittedNames: readonly string[];
}

/** Maximum bytes of cached names, of all folders: some two million names. */
const MAX_CACHE_BYTES = 64 * 1024 * 1024;

/** Milliseconds after the last request for which names are cached. A client that reads page after page is faster. */
const TIME_TO_LIVE_MS = 30_000;

/**
 * Milliseconds that a folder must have been unchanged before its names are cached. Folder times have a granularity of
 * up to 10 ms: a second change within that would not show.
 */
const MIN_UNCHANGED_MS = 1_000;

/**
 * Reads the children of folders. Caches the names of unchanged folders, so that each page costs the same even in a
 * folder with a million names. Concurrent requests share one read.
 */
export function createChildrenReader(maxPathBytes: number): (folder: Folder, path: FolderPath) => Promise<Children> {
  const cache = new LRUCache<string, Children & { readonly state: string }>({
    maxSize: MAX_CACHE_BYTES,
    // The constant covers the path of each folder and the objects that hold its names.
    sizeCalculation: ({ names }) => names.size + 1000,
    ttl: TIME_TO_LIVE_MS,
    ttlAutopurge: true,
    updateAgeOnGet: true,
  });

  const pending = createSingleFlight<Children>();

  return async (folder, path) => {
    const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs } = await folder.stats();
    const state = `${dev} ${ino} ${mtimeNs} ${ctimeNs}`;
    const known = cache.get(path);
    if (known?.state === state) return known;
    const read = () => readChildren(folder, path, { isLarge: size > LARGE_FOLDER_BYTES, maxPathBytes });
    if (Date.now() - Number(mtimeMs) < MIN_UNCHANGED_MS) return read();
    return pending.run(`${path} ${state}`, async () => {
      const found = await read();
      cache.set(path, { ...found, state });
      return found;
    });
  };
}

/** Size of a folder in bytes above which it has thousands of names. The thread pool reads such a folder. */
const LARGE_FOLDER_BYTES = 256 * 1024;

async function readChildren(
  folder: Folder,
  path: FolderPath,
  { isLarge, maxPathBytes }: { isLarge: boolean; maxPathBytes: number },
): Promise<Children> {
  const names: string[] = [];
  let omitted = 0;
  const omittedNames: string[] = [];
  await folder.readNames({ isLarge }, (entry) => {
    const name = entry.name.toString();
    if ((path === ROOT && name === RESERVED_FOLDER) || isStagingName(name)) return;
    const isAddressable = isUtf8(entry.name) && !(path === ROOT && isReservedName(name));
    const suffix = isAddressable ? suffixOfChild(path, name, entry, maxPathBytes) : undefined;
    if (suffix === undefined) {
      omitted++;
      const isItem = entry.isFile() || entry.isDirectory();
      if (isItem && omittedNames.length < MAX_OMITTED_NAMES) omittedNames.push(name);
    } else names.push(entry.name.toString('latin1') + suffix);
  });
  return { names: await packNames(names), omitted, omittedNames: omittedNames.toSorted() };
}

/** Returns the suffix of an entry's name in its path: `/` for a folder. Undefined if no path can name the entry. */
function suffixOfChild(
  folder: FolderPath,
  name: string,
  entry: NamedEntry,
  maxPathBytes: number,
): '' | '/' | undefined {
  if (entry.isDirectory()) return foundFolder(folder, name, maxPathBytes) && '/';
  return entry.isFile() && foundFile(folder, name, maxPathBytes) !== undefined ? '' : undefined;
}

/**
 * The sorted names of a folder in one buffer: a million names of 20 bytes take 24 MB. As strings they would take three
 * times as much, and the garbage collector would visit each of them.
 */
export interface PackedNames {
  readonly length: number;
  /** Bytes of memory. */
  readonly size: number;
  at(index: number): FilePath | FolderPath | undefined;
  slice(start: number, end: number): (FilePath | FolderPath)[];
}

/** Names that are sorted without a pause, which takes some 10 ms. */
const RUN_LENGTH = 16_384;

/**
 * Sorts and packs the names of a folder. Each name is a string with one character per byte of its UTF-8 (`latin1`).
 * Such strings sort by bytes without a compare function, five times as fast. Yields to the event loop every few
 * milliseconds.
 */
export async function packNames(names: readonly string[]): Promise<PackedNames> {
  let runs: string[][] = [];
  for (let start = 0; start < names.length; start += RUN_LENGTH) {
    if (start > 0) await setImmediate();
    runs.push(names.slice(start, start + RUN_LENGTH).toSorted());
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      merged.push(await merge(runs[index] ?? [], runs[index + 1] ?? []));
    }
    runs = merged;
  }
  return pack(runs[0] ?? []);
}

async function merge(left: string[], right: string[]): Promise<string[]> {
  if (right.length === 0) return left;
  const merged: string[] = [];
  let [l, r] = [0, 0];
  let [a, b] = [left[0], right[0]];
  while (a !== undefined || b !== undefined) {
    if (b === undefined || (a !== undefined && a <= b)) {
      if (a !== undefined) merged.push(a);
      a = left[++l];
    } else {
      merged.push(b);
      b = right[++r];
    }
    if (merged.length % RUN_LENGTH === 0) await setImmediate();
  }
  return merged;
}

async function pack(names: readonly string[]): Promise<PackedNames> {
  const ends = new Uint32Array(names.length);
  let size = 0;
  for (const [index, name] of names.entries()) {
    size += name.length;
    ends[index] = size;
  }
  const bytes = Buffer.allocUnsafeSlow(size);
  for (let start = 0; start < names.length; start += RUN_LENGTH) {
    if (start > 0) await setImmediate();
    bytes.write(names.slice(start, start + RUN_LENGTH).join(''), ends[start - 1] ?? 0, 'latin1');
  }
  // The packed names are valid paths, so the slices are too.
  const at = (index: number) => bytes.toString('utf8', ends[index - 1] ?? 0, ends[index]) as FilePath | FolderPath;
  const { length } = names;
  return {
    length,
    size: size + ends.byteLength,
    at: (index) => (index >= 0 && index < length ? at(index) : undefined),
    slice: (start, end) => Array.from({ length: Math.max(0, Math.min(end, length) - start) }, (_, i) => at(start + i)),
  };
}
