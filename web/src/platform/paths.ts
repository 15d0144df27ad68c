/*
 * Paths and names, by the rules of the service. Names in a path are separated by "/". The path of a folder ends with "/",
 * and the path of the root folder is empty.
 */

export const ROOT = '';

/** Returns the folder that contains a file or folder. The parent of the root is the root. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/', path.length - 2) + 1);
}

/** Returns the last segment, without a "/". */
export function nameOf(path: string): string {
  return path.slice(parentOf(path).length).replace(/\/$/, '');
}

export function isFolderPath(path: string): boolean {
  return path === ROOT || path.endsWith('/');
}

/** Returns whether `path` is `outer`, or is in the folder `outer` or one of its subfolders. */
export function isWithin(path: string, outer: string): boolean {
  return path === outer || (isFolderPath(outer) && path.startsWith(outer));
}

/** Returns the folders on the way to `folder`: without the root, and including `folder` as the last one. */
export function ancestorsOf(folder: string): readonly string[] {
  const ends = [...folder.matchAll(/\//g)].map(({ index }) => index + 1);
  return ends.map((end) => folder.slice(0, end));
}

/** Splits a name into the stem, which users rename, and the extension with its dot: `cat` and `.jpg`. */
export function splitName(name: string): { readonly stem: string; readonly extension: string } {
  const compound = /^.+?(?<extension>\.tar\.[a-z\d]+)$/i.exec(name)?.groups?.['extension'];
  const dot = compound === undefined ? name.lastIndexOf('.') : name.length - compound.length;
  // A dot at the start marks a hidden file. A long "extension", or one with spaces, is part of the stem.
  if (dot <= 0 || !/^\.[^\s.]{1,10}(\.[^\s.]{1,10})?$/.test(name.slice(dot))) return { stem: name, extension: '' };
  return { stem: name.slice(0, dot), extension: name.slice(dot) };
}

/** Why the service would reject a name. */
export type NameProblem = 'empty' | 'slash' | 'dots' | 'control' | 'long' | 'deep' | 'taken';

/** The maximum length in bytes of a name and of a path, including the "/" of a folder. All stores allow these. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 1024;

// biome-ignore lint/suspicious/noControlCharactersInRegex: names must not contain these.
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Returns why the service would reject a name; undefined if it would accept the name. */
export function findNameProblem(
  name: string,
  { folder, isFolder, isTaken }: { folder: string; isFolder: boolean; isTaken: (name: string) => boolean },
): NameProblem | undefined {
  if (name === '') return 'empty';
  if (name.includes('/')) return 'slash';
  if (name === '.' || name === '..') return 'dots';
  if (CONTROL.test(name) || !name.isWellFormed()) return 'control';
  if (countBytes(name) > MAX_NAME_BYTES) return 'long';
  if (countBytes(folder + name) + (isFolder ? 1 : 0) > MAX_PATH_BYTES) return 'deep';
  return isTaken(name) ? 'taken' : undefined;
}

const encoder = new TextEncoder();
const countBytes = (text: string) => encoder.encode(text).length;
