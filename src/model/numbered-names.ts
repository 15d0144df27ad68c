import { childFile, childFolder, type FilePath, type FolderPath, isFolder, nameOf, parentOf } from './path.ts';

/** Maximum number of names to try, so that a request ends although other requests take each name first. */
const MAX_NUMBERED_NAMES = 100;

/**
 * Yields a path, and then the paths with a number in the name: `cat.jpg`, `cat (2).jpg`, `cat (3).jpg`. The names are
 * those of the web UI (`freeName` in `web/src/platform/paths.ts`). Throws `path-too-long` if a number does not fit.
 */
export function* numberedPaths<Path extends FilePath | FolderPath>(path: Path): Generator<Path> {
  yield path;
  const { stem, extension } = isFolder(path) ? { stem: nameOf(path), extension: '' } : splitName(nameOf(path));
  const numbered = /^(?<base>.*) \((?<number>\d{1,6})\)$/s.exec(stem)?.groups;
  const base = numbered?.['base'] ?? stem;
  const first = Number(numbered?.['number'] ?? 1) + 1;
  const toChild = isFolder(path) ? childFolder : childFile;
  for (let number = first; number < first + MAX_NUMBERED_NAMES; number++) {
    yield toChild(parentOf(path), `${base} (${number})${extension}`) as Path;
  }
}

/** Splits a name into the stem and the extension with its dot: `cat` and `.jpg`. */
function splitName(name: string): { readonly stem: string; readonly extension: string } {
  const compound = /^.+?(?<extension>\.tar\.[a-z\d]+)$/i.exec(name)?.groups?.['extension'];
  const dot = compound === undefined ? name.lastIndexOf('.') : name.length - compound.length;
  // A dot at the start marks a hidden file. A long "extension", or one with spaces, is part of the stem.
  if (dot <= 0 || !/^\.[^\s.]{1,10}(\.[^\s.]{1,10})?$/.test(name.slice(dot))) return { stem: name, extension: '' };
  return { stem: name.slice(0, dot), extension: name.slice(dot) };
}
