import { isClutter } from '../../dav/clutter.ts';
import { quoted } from '../../model/error.ts';
import type { FilePath, FolderPath } from '../../model/path.ts';
import type { DavContext } from './context.ts';
import { DavError } from './dav-error.ts';

/** Throws 403 for a file that an operating system adds to folders, if `DAV_CLUTTER` refuses those. */
export function requireClutterAllowed({ environment }: DavContext, path: FilePath | FolderPath): void {
  if (environment.dav.clutter !== 'refuse' || !isClutter(path)) return;
  throw new DavError(
    403,
    `${quoted(path)} is a file of an operating system, which this service does not store (DAV_CLUTTER).`,
  );
}
