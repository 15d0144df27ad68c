import { quoted, StoreError } from './error.ts';

declare const kind: unique symbol;

/** The path of a file: segments joined by `/`, without a leading or trailing one. */
export type FilePath = string & { readonly [kind]: 'file' };

/** The path of a folder: like a file's with a `/` at its end; the root is the empty string. */
export type FolderPath = string & { readonly [kind]: 'folder' };

/** The folder that holds everything. */
export const ROOT = '' as FolderPath;

/** The longest path, in bytes of UTF-8, a folder's `/` included: the limit of an S3 key. */
export const MAX_PATH_BYTES = 1024;

/**
 * Reads the path of a file. One leading `/` means the root and is dropped; nothing else is rewritten.
 * Throws `invalid-path` with the rule that `text` breaks.
 */
export function parseFile(text: string): FilePath {
  const path = text.startsWith('/') ? text.slice(1) : text;
  if (path === '') throw invalid(text, 'is empty, where the path of a file is needed');
  check(path, text);
  return path as FilePath;
}

/**
 * Reads the path of a folder, with or without its trailing `/`; `''` and `/` are the root.
 * Throws `invalid-path` with the rule that `text` breaks.
 */
export function parseFolder(text: string): FolderPath {
  const path = text.startsWith('/') ? text.slice(1) : text;
  if (path === '') return ROOT;
  const folder = path.endsWith('/') ? path : `${path}/`;
  check(folder.slice(0, -1), text);
  checkLength(folder, text);
  return folder as FolderPath;
}

/**
 * The file called `name` in `folder`. Throws `invalid-path` when `name` is not one segment, or the path too long.
 */
export function childFile(folder: FolderPath, name: string): FilePath {
  checkName(name);
  return parseFile(folder + name);
}

/** The folder called `name` in `folder`. Throws as `childFile` does. */
export function childFolder(folder: FolderPath, name: string): FolderPath {
  checkName(name);
  return parseFolder(folder + name);
}

/**
 * The path that a name found in a backend has, or undefined when it breaks the rules and no path can name it:
 * what is found can't be refused, only left out.
 */
export function foundFile(folder: FolderPath, name: string): FilePath | undefined {
  return isNameable(folder + name, name) ? ((folder + name) as FilePath) : undefined;
}

/** As `foundFile`, for a folder. */
export function foundFolder(folder: FolderPath, name: string): FolderPath | undefined {
  return isNameable(`${folder}${name}/`, name) ? (`${folder}${name}/` as FolderPath) : undefined;
}

/** As `foundFile`, for a name in a backend that is a whole path. */
export function foundPath(path: string): FilePath | undefined {
  return isNameable(path, path) ? (path as FilePath) : undefined;
}

/** The last segment, without a folder's `/`; empty for the root. */
export function nameOf(path: FilePath | FolderPath): string {
  const bare = withoutSlash(path);
  return bare.slice(bare.lastIndexOf('/') + 1);
}

/** The folder that a file or folder is in; the root is in itself. */
export function parentOf(path: FilePath | FolderPath): FolderPath {
  return path.slice(0, withoutSlash(path).lastIndexOf('/') + 1) as FolderPath;
}

/** A folder's path without its `/`, as error texts and file systems want it. */
export function withoutSlash(path: FilePath | FolderPath): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Whether a path is that of a folder: the root, or one with a `/` at its end. */
export function isFolder(path: FilePath | FolderPath): path is FolderPath {
  return path === '' || path.endsWith('/');
}

/** Whether `path` is `folder` or lies below it. Whole segments are compared: `ab/` is not within `a/`. */
export function isWithin(path: FilePath | FolderPath, folder: FolderPath): boolean {
  return path.startsWith(folder);
}

/** The path that has below `to` the place that `path` has below `from`. Throws `invalid-path` when it is too long. */
export function rebase<Path extends FilePath | FolderPath>(path: Path, from: FolderPath, to: FolderPath): Path {
  const moved = to + path.slice(from.length);
  checkLength(moved, moved);
  return moved as Path;
}

/**
 * The order of listings: by the bytes of UTF-8, a folder compared with its `/`. UTF-8 keeps the order of code
 * points, which UTF-16 (and so `<`) does not: there surrogates come before U+E000–U+FFFF.
 */
export function comparePaths(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a !== b) return (isSurrogate(a) ? a + 0x10000 : a) - (isSurrogate(b) ? b + 0x10000 : b);
  }
  return left.length - right.length;
}

const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff;

const CONTROL = /[\u0000-\u001f\u007f]/;

function check(path: string, text: string): void {
  const problem = problemOf(path);
  if (problem) throw invalid(text, problem);
  checkLength(path, text);
}

function problemOf(path: string): string | undefined {
  return path.split('/').map(segmentProblem).find(Boolean);
}

function checkName(name: string): void {
  const problem = name.includes('/') ? 'contains a "/", where one name is needed' : segmentProblem(name);
  if (problem) throw new StoreError('invalid-path', `The name ${quoted(name)} ${problem}.`);
}

function segmentProblem(segment: string): string | undefined {
  if (segment === '') return 'has an empty segment';
  if (segment === '.' || segment === '..') return `has the segment "${segment}"`;
  if (CONTROL.test(segment)) return 'contains a control character';
  if (!segment.isWellFormed()) return "contains half of a surrogate pair, which UTF-8 can't hold";
  return undefined;
}

function checkLength(path: string, text: string): void {
  // No character has more than three bytes for each of its units: most paths need not be counted.
  if (path.length * 3 <= MAX_PATH_BYTES) return;
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES) throw invalid(text, `is ${bytes} bytes long, over the limit of ${MAX_PATH_BYTES}`);
}

function isNameable(path: string, name: string): boolean {
  return problemOf(name) === undefined && Buffer.byteLength(path) <= MAX_PATH_BYTES;
}

function invalid(text: string, problem: string): StoreError {
  return new StoreError('invalid-path', `The path ${quoted(text)} ${problem}.`);
}
