import type { BigIntStats } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { type Items, pageOf } from '../../model/page.ts';
import { type FilePath, type FolderPath, isFolder } from '../../model/path.ts';
import type { Entry, Listing } from '../../model/store.ts';
import type { Folder } from './folder.ts';
import { entryOf } from './metadata.ts';

/** Maximum bytes of the cache in each process: the entries of some 25,000 names. */
const MAX_CACHE_BYTES = 16 * 1024 * 1024;

/** Estimated bytes of a name with its entry, and of a page. */
const NAME_BYTES = 640;
const PAGE_BYTES = 1000;

/** Milliseconds after the last request for which a page is cached. */
const TIME_TO_LIVE_MS = 30_000;

type Names = Items<FilePath | FolderPath>;

interface PageOptions {
  readonly cursor?: string;
  readonly limit?: number;
}

/** A page of names, and what was found under them last. */
interface Page {
  readonly names: Names;
  readonly items: readonly (FilePath | FolderPath)[];
  readonly cursor: string | undefined;
  /** The files of `items`, in the same order. */
  readonly files: readonly (FilePath | FolderPath)[];
  found: readonly (Found | undefined)[];
  /** Undefined until the files were looked up. */
  entries: readonly Entry[] | undefined;
}

/** What decides about an entry, and the entry: undefined if it is no file. */
interface Found extends Pick<BigIntStats, 'ino' | 'mode' | 'size' | 'mtimeNs' | 'ctimeNs' | 'birthtimeNs'> {
  readonly entry: Entry | undefined;
}

/**
 * Completes pages of names. Each file is looked up each time, but its entry is computed again only if it changed: clients list a
 * folder again and again. While nothing in a page changes, returns the same array, so that callers can cache what they make of
 * it. This saves a third of the CPU time of a page with 1,000 names.
 */
export class RecentPages {
  readonly #cache = new LRUCache<string, Page>({
    maxSize: MAX_CACHE_BYTES,
    sizeCalculation: ({ items }) => PAGE_BYTES + items.length * NAME_BYTES,
    ttl: TIME_TO_LIVE_MS,
    ttlAutopurge: true,
    updateAgeOnGet: true,
  });

  /** Returns a page of an open folder with these names, without those that were removed since the names were read. */
  async list(folder: Folder, path: FolderPath, names: Names, options: PageOptions): Promise<Listing> {
    const page = this.#page(path, names, options);
    const stats = await folder.findAll(page.files);
    const isUnchanged = stats.every((each, index) => isSame(page.found[index], each));
    const entries = (isUnchanged && page.entries) || complete(page, path, stats);
    return { entries, cursor: page.cursor };
  }

  #page(path: FolderPath, names: Names, options: PageOptions): Page {
    const key = `${path}\n${options.limit ?? ''}`;
    const known = options.cursor === undefined ? this.#cache.get(key) : undefined;
    // The names of an unchanged folder are the same object.
    if (known?.names === names) return known;
    const { items, cursor } = pageOf(path, names, options, (name) => path + name);
    const page: Page = {
      names,
      items,
      cursor,
      files: items.filter((name) => !isFolder(name)),
      found: [],
      entries: undefined,
    };
    // The pages of a large folder would only displace those of others.
    if (options.cursor === undefined && cursor === undefined) this.#cache.set(key, page);
    return page;
  }
}

/** Computes the entries of a page again, except those of unchanged files. */
function complete(page: Page, path: FolderPath, stats: readonly (BigIntStats | undefined)[]): readonly Entry[] {
  const found: (Found | undefined)[] = [];
  const entries: Entry[] = [];
  for (const name of page.items) {
    if (isFolder(name)) {
      entries.push({ kind: 'folder', path: (path + name) as FolderPath });
      continue;
    }
    const index = found.length;
    const known = page.found[index];
    const now = stats[index];
    const file = isSame(known, now) ? known : now && foundOf((path + name) as FilePath, now);
    found.push(file);
    if (file?.entry) entries.push(file.entry);
  }
  page.found = found;
  page.entries = entries;
  return entries;
}

function foundOf(path: FilePath, stats: BigIntStats): Found {
  const { ino, mode, size, mtimeNs, ctimeNs, birthtimeNs } = stats;
  return {
    ino,
    mode,
    size,
    mtimeNs,
    ctimeNs,
    birthtimeNs,
    entry: stats.isFile() ? entryOf(path, stats) : undefined,
  };
}

function isSame(known: Found | undefined, stats: BigIntStats | undefined): boolean {
  if (known === undefined || stats === undefined) return known === stats;
  return (
    known.mtimeNs === stats.mtimeNs &&
    known.ctimeNs === stats.ctimeNs &&
    known.size === stats.size &&
    known.ino === stats.ino &&
    known.birthtimeNs === stats.birthtimeNs &&
    known.mode === stats.mode
  );
}
