import { nameOf, parentOf } from '../paths.ts';
import type { Entry, FolderEntry, Listing, Service } from './service.ts';

/** Yields the pages of a folder. Throws `ServiceError`, or the signal's `AbortError`. */
export async function* pages(
  service: Pick<Service, 'list'>,
  folder: string,
  signal?: AbortSignal,
): AsyncGenerator<Listing> {
  let cursor: string | undefined;
  do {
    const page = await service.list(folder, { cursor, ...(signal && { signal }) });
    yield page;
    ({ cursor } = page);
  } while (cursor !== undefined);
}

/** The maximum number of pages that `entriesIn` reads, of 1,000 entries each. */
const MAX_PAGES = 20;

/** Yields the direct children of a folder, at most 20,000. Throws like `pages`. */
export async function* entriesIn(
  service: Pick<Service, 'list'>,
  folder: string,
  signal?: AbortSignal,
): AsyncGenerator<Entry> {
  let count = 0;
  for await (const { entries } of pages(service, folder, signal)) {
    yield* entries;
    count++;
    if (count === MAX_PAGES) return;
  }
}

/** Returns the entry at a path; undefined if `entriesIn` does not find it. Throws like `pages`. */
export async function findEntry(
  service: Pick<Service, 'list'>,
  path: string,
  signal?: AbortSignal,
): Promise<Entry | undefined> {
  for await (const entry of entriesIn(service, parentOf(path), signal)) if (entry.path === path) return entry;
  return undefined;
}

/** Returns the entry of a folder. It consists only of what the path tells. */
export function folderEntry(path: string): FolderEntry {
  return { type: 'folder', path, name: nameOf(path) };
}
