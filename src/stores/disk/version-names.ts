import { join } from 'node:path';
import { type KeptId, timeOfKeptId } from '../../model/kept-ids.ts';
import { type FilePath, type FolderPath, nameOf, parentOf, withoutSlash } from '../../model/path.ts';
import { MAX_SEGMENT_BYTES } from './errors.ts';

/*
 * The folder `.holdall/versions` mirrors the served folder, so that it distinguishes names exactly as the file system
 * does. Below each folder of it, `d` contains folders and `v` the versions of files: those of `a/b.txt` are in
 * `d/a/v/b.txt/`. A file and a folder of one name therefore don't conflict.
 */

/** Returns the absolute path of the folder `.holdall/versions`. */
export const versionsIn = (ownFolder: string): string => join(ownFolder, 'versions');

/** Returns the absolute path of the folder with the versions of a file. */
export const historyOf = (versions: string, file: FilePath): string =>
  join(mirrorOf(versions, parentOf(file)), 'v', nameOf(file));

/** Returns the absolute path of the folder with the versions of all files below `folder`. */
export const mirrorOf = (versions: string, folder: FolderPath): string =>
  join(versions, ...segmentsOf(folder).flatMap((segment) => ['d', segment]));

/** Returns the file whose versions are in a folder; undefined if the folder contains no versions. */
export function fileOfHistory(relative: string): FilePath | undefined {
  const segments = relative.split('/');
  const isHistory = segments.at(-2) === 'v' && segments.length % 2 === 0;
  const names = segments.filter((_, index) => index % 2 === 1);
  return isHistory ? (names.join('/') as FilePath) : undefined;
}

const segmentsOf = (folder: FolderPath) => withoutSlash(folder).split('/').filter(Boolean);

const SEPARATOR = '~';

/**
 * Returns the name of a version: its id and the user who replaced it. One name holds both, so that they appear in one
 * step. A username of more than some 170 bytes does not fit and is omitted.
 */
export function formatVersionName(id: KeptId, user: string | undefined): string {
  if (user === undefined) return id;
  const name = id + SEPARATOR + Buffer.from(user).toString('base64url');
  return name.length <= MAX_SEGMENT_BYTES ? name : id;
}

/** Parses the name of a version; undefined for any other name. */
export function parseVersionName(
  name: string,
): { readonly id: KeptId; readonly time: Date; readonly user?: string } | undefined {
  const [id = '', user, ...rest] = name.split(SEPARATOR);
  const time = timeOfKeptId(id);
  if (!time || rest.length > 0) return undefined;
  const username = user === undefined ? {} : { user: Buffer.from(user, 'base64url').toString() };
  return { id: id as KeptId, time, ...username };
}

const CLAIM = 'claim';

/** Returns the name of a file that is being replaced: it depends only on its inode, so only one process can create it. */
export const formatClaimName = (inode: bigint): string => `${CLAIM}${SEPARATOR}${inode.toString(36)}`;

/** Returns the inode in the name of a claim as text; undefined for any other name. */
export function parseClaimName(name: string): string | undefined {
  const [claim, inode] = name.split(SEPARATOR);
  return claim === CLAIM ? inode : undefined;
}
