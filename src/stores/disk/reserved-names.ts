import { randomUUID } from 'node:crypto';
import { lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { foldNames, type NameFolding } from '../../model/name-comparison.ts';
import type { FilePath, FolderPath } from '../../model/path.ts';

/** Holdall's own folder in the root. It is never listed and never addressable. */
export const RESERVED_FOLDER = '.holdall';

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

/** The folder for temporary files of all processes, as segments below the root. */
const TEMPORARY = [RESERVED_FOLDER, 'temporary'] as const;

/**
 * Detects how the file system of `root` compares names, by looking up a temporary folder under other spellings. Inode
 * numbers prove nothing here: exfat-fuse returns a different inode number for each spelling. Throws if Holdall's own
 * folder can't be created.
 */
export async function probeNames(root: string): Promise<NameFolding> {
  const ownFolder = join(root, RESERVED_FOLDER);
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
 * Names that Windows or Samba may resolve to a file of another name: short names (`PRIVAT~1`, `PX3K2J~A`), trailing
 * dots and spaces, streams.
 */
const ALIAS = /~\d|~[a-z](?:\.|$)|[. ]$|:/i;

/**
 * Returns the segments of a path that may be an alias which no listing shows, each with the path of its parent folder.
 */
export function possibleAliases(path: string): { readonly parent: string; readonly name: string }[] {
  if (!/[~.: ]/.test(path)) return [];
  const segments = path.split('/').filter(Boolean);
  return segments.flatMap((name, index) =>
    ALIAS.test(name) ? [{ parent: segments.slice(0, index).join('/'), name }] : [],
  );
}

/**
 * The sorted names of a folder in one buffer: a million names of 20 bytes take 24 MB. As strings they would take three
 * times as much, and the garbage collector would visit each of them.
 */
export interface PackedNames {
  readonly length: number;
  /** Bytes of memory. */
  readonly size: number;
  at(index: number): FilePath | FolderPath | undefined;
  slice(start: number, end: number): (FilePath | FolderPath)[];
}

/** Names that are sorted without a pause, which takes some 10 ms. */
const RUN = 16_384;

/**
 * Sorts and packs the names of a folder. Each name is a string with one character per byte of its UTF-8 (`latin1`).
 * Such strings sort by bytes without a compare function, five times as fast. Yields to the event loop every few
 * milliseconds.
 */
export async function packNames(names: readonly string[]): Promise<PackedNames> {
  let runs: string[][] = [];
  for (let start = 0; start < names.length; start += RUN) {
    if (start > 0) await setImmediate();
    runs.push(names.slice(start, start + RUN).toSorted());
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      merged.push(await merge(runs[index] ?? [], runs[index + 1] ?? []));
    }
    runs = merged;
  }
  return pack(runs[0] ?? []);
}

async function merge(left: string[], right: string[]): Promise<string[]> {
  if (right.length === 0) return left;
  const merged: string[] = [];
  let [l, r] = [0, 0];
  let [a, b] = [left[0], right[0]];
  while (a !== undefined || b !== undefined) {
    if (b === undefined || (a !== undefined && a <= b)) {
      if (a !== undefined) merged.push(a);
      a = left[++l];
    } else {
      merged.push(b);
      b = right[++r];
    }
    if (merged.length % RUN === 0) await setImmediate();
  }
  return merged;
}

async function pack(names: readonly string[]): Promise<PackedNames> {
  const ends = new Uint32Array(names.length);
  let size = 0;
  for (const [index, name] of names.entries()) {
    size += name.length;
    ends[index] = size;
  }
  const bytes = Buffer.allocUnsafeSlow(size);
  for (let start = 0; start < names.length; start += RUN) {
    if (start > 0) await setImmediate();
    bytes.write(names.slice(start, start + RUN).join(''), ends[start - 1] ?? 0, 'latin1');
  }
  // The packed names are valid paths, so the slices are too.
  const at = (index: number) => bytes.toString('utf8', ends[index - 1] ?? 0, ends[index]) as FilePath | FolderPath;
  const { length } = names;
  return {
    length,
    size: size + ends.byteLength,
    at: (index) => (index >= 0 && index < length ? at(index) : undefined),
    slice: (start, end) => Array.from({ length: Math.max(0, Math.min(end, length) - start) }, (_, i) => at(start + i)),
  };
}
