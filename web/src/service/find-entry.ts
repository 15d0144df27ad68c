import { parentOf } from '../paths.ts';
import type { Entry, Service } from './service.ts';

/** Pages of 1,000 entries to read at most. */
const PAGES = 20;

/**
 * Lists the direct children of a folder, page by page; of a large folder, only the first 20,000. Throws a
 * `ServiceError`.
 */
export async function* entriesIn(
  service: Pick<Service, 'list'>,
  folder: string,
  signal?: AbortSignal,
): AsyncGenerator<Entry> {
  let cursor: string | undefined;
  for (let page = 0; page < PAGES && (page === 0 || cursor !== undefined); page++) {
    const listing = await service.list(folder, { cursor, ...(signal && { signal }) });
    yield* listing.entries;
    ({ cursor } = listing);
  }
}

/** Returns the entry of one path; undefined if `entriesIn` does not find it. Throws a `ServiceError`. */
export async function findEntry(
  service: Pick<Service, 'list'>,
  path: string,
  signal?: AbortSignal,
): Promise<Entry | undefined> {
  for await (const entry of entriesIn(service, parentOf(path), signal)) if (entry.path === path) return entry;
  return undefined;
}
