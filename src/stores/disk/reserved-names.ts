import { randomUUID } from 'node:crypto';
import { foldNames } from '../../model/name-comparison.ts';

/** Holdall's own folder in the root. It is never listed and never addressable. */
export const RESERVED_FOLDER = '.holdall';

/** The folder in `RESERVED_FOLDER` with the content of unfinished uploads. */
export const UPLOADS_FOLDER = 'uploads';

const FOLDED = foldNames(RESERVED_FOLDER);

/**
 * Returns whether a first segment names Holdall's own folder on some file system: in another case or normalization
 * form, with trailing dots or spaces (Windows), or followed by a colon and a stream (NTFS). Applies to every disk, so
 * that its files can move to another file system.
 */
export function isReservedName(segment: string): boolean {
  if (segment === RESERVED_FOLDER) return true;
  // A name that begins with an ASCII character other than "." never folds to a name that begins with ".".
  const first = segment.charCodeAt(0);
  if (first < 0x80 && first !== 0x2e) return false;
  // NFKC also covers full-width letters, which mounts with a legacy code page map to ASCII.
  const [name = ''] = segment.normalize('NFKC').split(/[:\\]/, 1);
  const folded = foldNames(name);
  return folded.startsWith(FOLDED) && /^[. ]*$/.test(folded.slice(FOLDED.length));
}

/** The start of the names of temporary files in a served folder. No path can name them, and no listing contains them. */
const STAGING_PREFIX = `${RESERVED_FOLDER}~`;

/** Returns a new name for a temporary file or folder that must be in a served folder, because of its file system. */
export const newStagingName = (): string => STAGING_PREFIX + randomUUID();

/** Returns whether a name in a folder belongs to a temporary file of Holdall, in any process. */
export const isStagingName = (name: string): boolean => STAGING.test(name);

/** Returns whether a path has a segment that is the name of a temporary file of Holdall. */
export const hasStagingName = (path: string): boolean => path.includes('~') && path.split('/').some(isStagingName);

const STAGING = /^\.holdall~[\da-f-]{36}$/i;

/**
 * Names that Windows or Samba might resolve to a file of another name: short names (`PRIVAT~1`, `PX3K2J~A`), trailing
 * dots and spaces, streams.
 */
const ALIAS = /~\d|~[a-z](?:\.|$)|[. ]$|:/i;

/**
 * Returns the segments of a path that might be an alias which no listing shows, each with the path of its parent
 * folder.
 */
export function possibleAliases(path: string): { readonly parent: string; readonly name: string }[] {
  if (!/[~.: ]/.test(path)) return [];
  const segments = path.split('/').filter(Boolean);
  return segments.flatMap((name, index) =>
    ALIAS.test(name) ? [{ parent: segments.slice(0, index).join('/'), name }] : [],
  );
}
