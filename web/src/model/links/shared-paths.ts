import { parentOf } from '../../platform/paths.ts';
import { listLinks, MAX_LINKS_PER_PAGE } from '../../platform/service/links.ts';
import type { Service } from '../../platform/service/service.ts';

/** The maximum number of requests for one folder: the links of its subfolders are among them. */
const MAX_REQUESTS = 10;

/**
 * Returns the paths of the folder and of its entries that have an active link. Sends background requests. Throws
 * `ServiceError`, or the `AbortError` of the signal.
 */
export async function readSharedPaths(
  service: Pick<Service, 'send'>,
  folder: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const shared = new Set<string>();
  let cursor: string | undefined;
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    const page = await listLinks(service, {
      below: folder,
      limit: MAX_LINKS_PER_PAGE,
      cursor,
      signal,
      isBackground: true,
    });
    for (const { path, active } of page.links) {
      if (active && (path === folder || parentOf(path) === folder)) shared.add(path);
    }
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return shared;
}
