import { randomInt } from 'node:crypto';
import {
  childFile,
  childFolder,
  type FilePath,
  type FolderPath,
  isFolder,
  nameOf,
  parentOf,
  requireLength,
} from './path.ts';

/** Maximum number of consecutive numbers to try. */
const MAX_CONSECUTIVE_NUMBERS = 100;

/** Maximum number of random numbers to try, so that a request ends although other requests take each name first. */
const MAX_RANDOM_NUMBERS = 10;

/** Bytes that the longest number adds to a name. */
export const MAX_NUMBER_BYTES = ' (123456789)'.length;

/** Maximum bytes of one name on a disk. */
const MAX_NAME_BYTES = 255;

/**
 * Yields a path, and then the paths with a number in the name: `cat.jpg`, `cat (2).jpg`, `cat (3).jpg`. The names are
 * those of the web UI (`freeName` in `web/src/platform/paths.ts`). After 100 numbers, the next ones are random. A long
 * name is shortened before its number. Throws `path-too-long` if the number does not fit into `maxPathBytes`.
 */
export function* numberedPaths<Path extends FilePath | FolderPath>(path: Path, maxPathBytes: number): Generator<Path> {
  yield path;
  const { stem, extension } = isFolder(path) ? { stem: nameOf(path), extension: '' } : splitName(nameOf(path));
  const numbered = /^(?<base>.*) \((?<number>\d{1,6})\)$/s.exec(stem)?.groups;
  const base = numbered?.['base'] ?? stem;
  const first = Number(numbered?.['number'] ?? 1) + 1;
  const toChild = isFolder(path) ? childFolder : childFile;
  const parent = parentOf(path);
  const bytesLeft = maxPathBytes - Buffer.byteLength(parent) - (isFolder(path) ? 1 : 0);
  const maxBytes = Math.min(bytesLeft, Math.max(MAX_NAME_BYTES, Buffer.byteLength(nameOf(path))));
  for (const number of numbersFrom(first)) {
    const end = ` (${number})${extension}`;
    const numberedPath = toChild(parent, `${truncate(base, maxBytes - Buffer.byteLength(end))}${end}`);
    requireLength(numberedPath, maxPathBytes);
    yield numberedPath as Path;
  }
}

function* numbersFrom(first: number): Generator<number> {
  for (let number = first; number < first + MAX_CONSECUTIVE_NUMBERS; number++) yield number;
  for (let attempt = 0; attempt < MAX_RANDOM_NUMBERS; attempt++) yield randomInt(100_000_000, 1_000_000_000);
}

/** Returns the longest beginning of `text` that has at most `maxBytes` in UTF-8. */
function truncate(text: string, maxBytes: number): string {
  const buffer = new Uint8Array(Math.max(0, maxBytes));
  return text.slice(0, new TextEncoder().encodeInto(text, buffer).read);
}

/** Splits a name into the stem and the extension with its dot: `cat` and `.jpg`. */
function splitName(name: string): { readonly stem: string; readonly extension: string } {
  const compound = /^.+?(?<extension>\.tar\.[a-z\d]+)$/i.exec(name)?.groups?.['extension'];
  const dot = compound === undefined ? name.lastIndexOf('.') : name.length - compound.length;
  // A dot at the start marks a hidden file. A long "extension", or one with spaces, is part of the stem.
  if (dot <= 0 || !/^\.[^\s.]{1,10}(\.[^\s.]{1,10})?$/.test(name.slice(dot))) return { stem: name, extension: '' };
  return { stem: name.slice(0, dot), extension: name.slice(dot) };
}
