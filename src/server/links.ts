import type { Logger } from 'pino';
import { deriveKey } from '../access/derived-keys.ts';
import type { Policy } from '../access/policy.ts';
import type { Database } from '../database/database.ts';
import { RevocationWatch } from '../database/revocation-watch.ts';
import { LinkSessions } from '../http/access/link-session.ts';
import { createThrottle } from '../http/access/password-check.ts';
import type { LinkService } from '../http/service.ts';
import { LinkedItems } from '../links/linked-items.ts';
import { Links } from '../links/links.ts';
import { sealCursors } from '../links/sealed-cursors.ts';
import type { Store } from '../model/store.ts';
import type { SharedState } from './limits.ts';

export interface LinkOptions {
  /** The key of the service. */
  readonly key: Buffer;
  readonly publicUrl: string | undefined;
  readonly basePath: string;
  readonly shared: SharedState;
  readonly identify: Store['identify'];
  readonly policy: () => Policy;
  readonly logger: Pick<Logger, 'error'>;
}

/** Creates what share links need. */
export function createLinks(
  database: Database,
  { key, publicUrl, basePath, shared, identify, policy, logger }: LinkOptions,
): LinkService {
  const table = new Links(database, policy);
  const cursorKey = deriveKey(key, 'cursors of a link');
  const throttle = createThrottle(key, { redis: shared.redis, counters: shared.counters?.attempts });
  const items = new LinkedItems({ table, identify });
  return {
    table,
    items,
    sessions: new LinkSessions({ key, throttle, publicUrl, basePath }),
    watch: new RevocationWatch((ids) => table.findAll(ids), {
      onError: (error) => logger.error({ err: error }, 'Share links in use could not be checked'),
    }),
    cursorsOf: ({ id }) => sealCursors(cursorKey, id),
    urlKey: deriveKey(key, 'signed URLs of a link'),
  };
}
