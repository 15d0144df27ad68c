import type { Database } from '../database/database.ts';
import type { LinkService } from '../http/service.ts';
import { Links } from '../links/links.ts';

/** Creates what share links need. */
export function startLinks(database: Database): LinkService {
  return { links: new Links(database) };
}
