import { parentOf } from '../paths.ts';
import type { Entry, Service } from './service.ts';

/** The maximum number of pages to read, of 1,000 entries each. */
const PAGES = 20;

/** Lists the direct children of a folder, page by page. Stops after 20,000 entries. Throws `ServiceError`. */
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

/** Returns the entry at a path; undefined if `entriesIn` does not find it. Throws `ServiceError`. */
export async function findEntry(
  service: Pick<Service, 'list'>,
  path: string,
  signal?: AbortSignal,
): Promise<Entry | undefined> {
  for await (const entry of entriesIn(service, parentOf(path), signal)) if (entry.path === path) return entry;
  return undefined;
}
