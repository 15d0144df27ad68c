import { parentOf } from '../../platform/paths.ts';
import { listLinks } from '../../platform/service/links.ts';
import type { Service } from '../../platform/service/service.ts';

/** The maximum number of links in a page of the HTTP API. */
const MAX_PAGE = 1_000;

/** The maximum number of requests for one folder: the links of its subfolders are among them. */
const MAX_REQUESTS = 10;

/**
 * Returns which of a folder and its entries have an active link. Throws `ServiceError`, or the `AbortError` of the signal.
 */
export async function readSharedPaths(
  service: Pick<Service, 'send'>,
  folder: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const shared = new Set<string>();
  let cursor: string | undefined;
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    const page = await listLinks(service, { below: folder, limit: MAX_PAGE, cursor, signal });
    for (const { path, active } of page.links) {
      if (active && (path === folder || parentOf(path) === folder)) shared.add(path);
    }
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return shared;
}
