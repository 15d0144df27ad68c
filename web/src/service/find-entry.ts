import { parentOf } from '../paths.ts';
import type { Entry, Service } from './service.ts';

/** Pages of 1,000 entries in which one is looked for. */
const PAGES = 20;

/**
 * What the service says of one path; undefined where it is not there, or so far down in a large folder that looking for
 * it would take long. Throws a `ServiceError`.
 */
export async function findEntry(
  service: Pick<Service, 'list'>,
  path: string,
  signal?: AbortSignal,
): Promise<Entry | undefined> {
  let cursor: string | undefined;
  for (let page = 0; page < PAGES && (page === 0 || cursor !== undefined); page++) {
    const listing = await service.list(parentOf(path), { cursor, ...(signal && { signal }) });
    const found = listing.entries.find((entry) => entry.path === path);
    if (found) return found;
    ({ cursor } = listing);
  }
  return undefined;
}
