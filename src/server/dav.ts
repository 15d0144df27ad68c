import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import type { Database } from '../database/database.ts';
import { isClutter } from '../dav/clutter.ts';
import { Locks } from '../dav/locks.ts';
import { Properties } from '../dav/properties.ts';
import type { DavService } from '../http/service.ts';

export type DavSettings = Pick<Config, 'DAV' | 'DAV_CLUTTER' | 'DAV_REDIRECTS'>;

/** Creates what WebDAV adds to files. */
export function createDav(
  database: Database,
  { DAV, DAV_CLUTTER, DAV_REDIRECTS }: DavSettings,
  logger: Pick<Logger, 'warn'>,
): DavService {
  return {
    locks: new Locks(database),
    properties: new Properties(database),
    onError: (error) => logger.warn({ err: error }, 'WebDAV locks and properties of changed files were not updated'),
    isServed: DAV,
    redirects: DAV_REDIRECTS,
    clutter: DAV_CLUTTER,
    isHidden: DAV_CLUTTER === 'hide' ? isClutter : undefined,
  };
}
