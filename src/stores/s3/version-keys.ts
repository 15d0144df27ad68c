import { type KeptId, timeOfKeptId } from '../../model/kept-ids.ts';
import type { FilePath, FolderPath } from '../../model/path.ts';
import type { Key } from './keys.ts';
import { OWN_FOLDER } from './own-folder.ts';

/*
 * The keys of versions mirror the served folder: the versions of `a/b.txt` are in `.holdall/versions/a/b.txt/~v/`. Names of
 * users that begin with `~` get another `~`, so none of them is `~v`. Doubled slashes would be shorter, but some stores
 * reject or merge them.
 */

/** The folder of all versions. */
export const VERSIONS: Key = `${OWN_FOLDER}versions/`;

const VERSIONS_OF_FILE = '~v/';

/** Returns the folder of the versions of a file. */
export const historyOf = (file: FilePath): Key => `${VERSIONS}${escape(file)}/${VERSIONS_OF_FILE}`;

/** Returns the start of the keys of all versions below a folder. Versions of a file of the same name have it too. */
export const mirrorOf = (folder: FolderPath): Key => VERSIONS + escape(folder);

/** Returns whether a key that begins with `mirrorOf(folder)` is a version of a file below the folder. */
export const isBelow = (key: Key, folder: FolderPath): boolean =>
  folder === '' || !key.startsWith(mirrorOf(folder) + VERSIONS_OF_FILE);

/** Returns the file to which the key of a version belongs, with escaped names. */
export const mirroredPath = (key: Key): FilePath =>
  key.slice(VERSIONS.length, key.lastIndexOf(`/${VERSIONS_OF_FILE}`)) as FilePath;

const escape = (path: FilePath | FolderPath) => path.replaceAll(/(^|\/)~/g, '$1~~');

/** What the key of a version records. The object has the rest. */
export interface VersionName {
  readonly id: KeptId;
  /** The modification time of the content. The copy has a newer one. */
  readonly modified: Date | null;
  readonly user?: string | undefined;
}

const SEPARATOR = '~';

/** Returns the name of a version. It lists the newest first, because ids do. */
export function formatVersionName({ id, modified, user }: VersionName): string {
  const seconds = modified ? Math.floor(modified.getTime() / 1000).toString(36) : '';
  const username = user === undefined ? [] : [Buffer.from(user).toString('base64url')];
  return [id, seconds, ...username].join(SEPARATOR);
}

/** Parses the key of a version; undefined for any other key. */
export function parseVersionKey(key: Key): (VersionName & { readonly replacedAt: Date }) | undefined {
  const [id = '', seconds = '', user, ...rest] = key.slice(key.lastIndexOf('/') + 1).split(SEPARATOR);
  const replacedAt = timeOfKeptId(id);
  const modified = seconds === '' ? null : new Date(Number.parseInt(seconds, 36) * 1000);
  if (!replacedAt || Number.isNaN(modified?.getTime()) || rest.length > 0) return undefined;
  return {
    id: id as KeptId,
    replacedAt,
    modified,
    ...(user !== undefined && { user: Buffer.from(user, 'base64url').toString() }),
  };
}

/** Returns the start of the key of a version, and the first possible key after it. */
export const keyRangeOf = (file: FilePath, id: KeptId): { readonly start: Key; readonly end: Key } => {
  const start = historyOf(file) + id + SEPARATOR;
  return { start, end: `${start}\u{10ffff}` };
};
