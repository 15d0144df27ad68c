import type { Logger } from 'pino';
import { deriveKey } from '../access/sessions.ts';
import type { Database } from '../database/database.ts';
import { RevocationWatch } from '../database/revocation-watch.ts';
import { LinkSessions } from '../http/access/link-session.ts';
import { createThrottle } from '../http/access/password-check.ts';
import type { LinkService } from '../http/service.ts';
import { Links } from '../links/links.ts';
import { sealCursors } from '../links/sealed-cursors.ts';
import type { SharedState } from './limits.ts';

export interface LinkOptions {
  /** The key of the service. */
  readonly key: Buffer;
  readonly publicUrl: string | undefined;
  readonly basePath: string;
  readonly shared: SharedState;
  readonly logger: Pick<Logger, 'error'>;
}

/** Creates what share links need. */
export function createLinks(
  database: Database,
  { key, publicUrl, basePath, shared, logger }: LinkOptions,
): LinkService {
  const table = new Links(database);
  const cursorKey = deriveKey(key, 'cursors of a link');
  const throttle = createThrottle(key, { redis: shared.redis, counters: shared.counters?.attempts });
  return {
    table,
    sessions: new LinkSessions({ key, throttle, publicUrl, basePath }),
    watch: new RevocationWatch((ids) => table.findAll(ids), {
      onError: (error) => logger.error({ err: error }, 'Share links in use could not be checked'),
    }),
    cursorsOf: ({ id }) => sealCursors(cursorKey, id),
    urlKey: deriveKey(key, 'signed URLs of a link'),
  };
}
