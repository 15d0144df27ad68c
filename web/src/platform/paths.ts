/*
 * Paths as the service writes them: segments joined by "/", a folder's with a "/" at its end, the root's empty.
 */

export const ROOT = '';

/** The folder that a file or folder lies in; the root's is the root. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/', path.length - 2) + 1);
}

/** The last segment, without a "/". */
export function nameOf(path: string): string {
  return path.slice(parentOf(path).length).replace(/\/$/, '');
}

/** Whether a path is a folder's. */
export function isFolderPath(path: string): boolean {
  return path === ROOT || path.endsWith('/');
}

/** Whether `path` is `outer` itself or, where that is a folder, lies anywhere below it. */
export function isWithin(path: string, outer: string): boolean {
  return path === outer || (isFolderPath(outer) && path.startsWith(outer));
}

/** The folders from the root (left out) down to `folder` itself. */
export function ancestorsOf(folder: string): readonly string[] {
  const ends = [...folder.matchAll(/\//g)].map(({ index }) => index + 1);
  return ends.map((end) => folder.slice(0, end));
}

/** The part of a name that a person renames, and its extension with the dot: `cat` and `.jpg`. */
export function splitName(name: string): { readonly stem: string; readonly extension: string } {
  const compound = /^.+?(?<extension>\.tar\.[a-z\d]+)$/i.exec(name)?.groups?.['extension'];
  const dot = compound === undefined ? name.lastIndexOf('.') : name.length - compound.length;
  // A dot at the very beginning is that of a hidden file, and a long or spaced "extension" is part of the name.
  if (dot <= 0 || !/^\.[^\s.]{1,10}(\.[^\s.]{1,10})?$/.test(name.slice(dot))) return { stem: name, extension: '' };
  return { stem: name.slice(0, dot), extension: name.slice(dot) };
}

/** `cat.jpg`, `cat (2).jpg`, `cat (3).jpg`: the first such name that is not taken. Folders have no extension. */
export function freeName(name: string, isTaken: (name: string) => boolean, isFolder = false): string {
  if (!isTaken(name)) return name;
  const { stem, extension } = isFolder ? { stem: name, extension: '' } : splitName(name);
  const numbered = /^(?<base>.*) \((?<number>\d{1,6})\)$/s.exec(stem)?.groups;
  const base = numbered?.['base'] ?? stem;
  for (let number = Number(numbered?.['number'] ?? 1) + 1; ; number++) {
    const candidate = `${base} (${number})${extension}`;
    if (!isTaken(candidate)) return candidate;
  }
}
