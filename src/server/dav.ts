import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import type { Database } from '../database/database.ts';
import { isClutter } from '../dav/clutter.ts';
import { Locks } from '../dav/locks.ts';
import { Properties } from '../dav/properties.ts';
import type { DavService } from '../http/service.ts';
import { EXACT_NAMES } from '../model/name-comparison.ts';
import { throttleLog } from '../observability/log-throttle.ts';
import type { OpenedStore } from '../stores/backend.ts';

export type DavSettings = Pick<Config, 'DAV' | 'DAV_CLUTTER' | 'DAV_REDIRECTS'>;

/** The properties of the store that matter to WebDAV. */
export type DavStore = Partial<Pick<OpenedStore, 'isLocal' | 'names' | 'store'>>;

/** Creates what WebDAV adds to files. */
export function createDav(
  database: Database,
  { DAV, DAV_CLUTTER, DAV_REDIRECTS }: DavSettings,
  { isLocal = false, names = EXACT_NAMES, store }: DavStore,
  logger: Pick<Logger, 'warn'>,
): DavService {
  return {
    locks: new Locks(database, names),
    properties: new Properties(database, names),
    names,
    onError: throttleLog((failures, error: unknown) =>
      logger.warn({ failures, err: error }, 'WebDAV locks and properties of changed files were not updated'),
    ),
    isServed: DAV,
    redirects: DAV_REDIRECTS,
    findsConflicts: isLocal,
    setsTimes: store?.setModified !== undefined,
    clutter: DAV_CLUTTER,
    isHidden: DAV_CLUTTER === 'hide' ? isClutter : undefined,
  };
}
