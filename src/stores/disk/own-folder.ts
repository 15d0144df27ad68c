import { randomUUID } from 'node:crypto';
import { lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { foldNames, type NameFolding } from '../../domain/name-comparison.ts';

/** The folder under the root that is Holdall's own: never listed, never addressable. */
export const OWN_FOLDER = '.holdall';

const FOLDED = foldNames(OWN_FOLDER);

/**
 * Returns whether a first segment names Holdall's own folder on some file system: in another case or normalization form,
 * with trailing dots or spaces (Windows), or with a stream behind a colon (NTFS). Refused on every disk, so that a
 * disk can move to another file system.
 */
export function isOwnName(segment: string): boolean {
  if (segment === OWN_FOLDER) return true;
  // A name that begins with an ASCII character other than "." folds to nothing that begins with ".".
  const first = segment.charCodeAt(0);
  if (first < 0x80 && first !== 0x2e) return false;
  // NFKC also covers full-width letters, which mounts with a legacy code page map to ASCII.
  const [name = ''] = segment.normalize('NFKC').split(/[:\\]/, 1);
  const folded = foldNames(name);
  return folded.startsWith(FOLDED) && /^[. ]*$/.test(folded.slice(FOLDED.length));
}

/** Where temporary files of all processes are, as segments below the root. */
const TEMPORARY = [OWN_FOLDER, 'temporary'] as const;

/**
 * Finds out how the file system of `root` compares names: looks up a temporary folder under other spellings. Inode numbers
 * prove nothing here: exfat-fuse gives each spelling an inode number of its own. Throws where Holdall's own folder can't be
 * made.
 */
export async function probeNames(root: string): Promise<NameFolding> {
  const ownFolder = join(root, OWN_FOLDER);
  const present = await lstat(ownFolder).catch(() => undefined);
  if (present && !present.isDirectory()) {
    throw new Error(
      `${ownFolder} is not a folder. Holdall keeps its own files in a folder of this name: rename the file.`,
    );
  }
  const name = `names-${randomUUID()}`;
  const probe = join(root, ...TEMPORARY, name);
  await mkdir(probe, { recursive: true, mode: 0o700 });
  try {
    await writeFile(join(probe, '\u00e9'), '');
    const [ignoresCase, ignoresForm] = await Promise.all([
      exists(join(root, ...TEMPORARY.map((segment) => segment.toUpperCase()), name)),
      exists(join(probe, 'e\u0301')),
    ]);
    return { ignoresCase, ignoresForm };
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/**
 * Names that Windows or Samba may resolve to a file of another name: short names (`PRIVAT~1`, `PX3K2J~A`), trailing dots
 * and spaces, streams.
 */
const ALIAS = /~\d|~[a-z](?:\.|$)|[. ]$|:/i;

/** Returns the segments of a path that may be an alias which no listing shows, each with the path of its parent folder. */
export function possibleAliases(path: string): { readonly parent: string; readonly name: string }[] {
  if (!/[~.: ]/.test(path)) return [];
  const segments = path.split('/').filter(Boolean);
  return segments.flatMap((name, index) =>
    ALIAS.test(name) ? [{ parent: segments.slice(0, index).join('/'), name }] : [],
  );
}
