import { quoted, StoreError } from './error.ts';

declare const kind: unique symbol;

/** The path of a file: segments separated by `/`, without a leading or trailing slash. */
export type FilePath = string & { readonly [kind]: 'file' };

/** The path of a folder: segments that each end with `/`. The root is the empty string. */
export type FolderPath = string & { readonly [kind]: 'folder' };

/** The root folder. */
export const ROOT = '' as FolderPath;

/**
 * Maximum length of any path in UTF-8 bytes, including the trailing `/` of a folder. This is PATH_MAX of Linux. Stores have
 * lower limits: `Store.maxPathBytes`.
 */
export const MAX_PATH_BYTES = 4096;

/** The limit of stores that name no other one. This is the limit of an S3 key. */
export const MAX_KEY_BYTES = 1024;

/**
 * Parses a file path. One leading `/` stands for the root and is removed; nothing else is normalized. Throws
 * `invalid-path` with the rule that `text` breaks.
 */
export function parseFile(text: string): FilePath {
  const path = text.startsWith('/') ? text.slice(1) : text;
  if (path === '') throw invalid(text, 'is empty. Send the path of a file');
  check(path, text);
  return path as FilePath;
}

/**
 * Parses a folder path, with or without a trailing `/`. `''` and `/` are the root. Throws `invalid-path` with the
 * rule that `text` breaks.
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
 * Returns the path of the file `name` in `folder`. Throws `invalid-path` if `name` is not a single valid segment, or
 * if the path is too long.
 */
export function childFile(folder: FolderPath, name: string): FilePath {
  checkName(name);
  return parseFile(folder + name);
}

/** Returns the path of the folder `name` in `folder`. Throws like `childFile`. */
export function childFolder(folder: FolderPath, name: string): FolderPath {
  checkName(name);
  return parseFolder(folder + name);
}

/**
 * Returns the path of a file that a backend lists in `folder`; undefined if it is not a valid path of at most `maxBytes`.
 * Listings omit entries with such names.
 */
export function foundFile(folder: FolderPath, name: string, maxBytes: number): FilePath | undefined {
  return isNameable(folder + name, name, maxBytes) ? ((folder + name) as FilePath) : undefined;
}

/** Returns the path of a folder that a backend lists in `folder`; undefined like `foundFile`. */
export function foundFolder(folder: FolderPath, name: string, maxBytes: number): FolderPath | undefined {
  return isNameable(`${folder}${name}/`, name, maxBytes) ? (`${folder}${name}/` as FolderPath) : undefined;
}

/** Returns the file path for a full path from a backend; undefined like `foundFile`. */
export function foundPath(path: string, maxBytes: number): FilePath | undefined {
  return isNameable(path, path, maxBytes) ? (path as FilePath) : undefined;
}

/** Returns the last segment, without a folder's trailing `/`; empty for the root. */
export function nameOf(path: FilePath | FolderPath): string {
  const bare = withoutSlash(path);
  return bare.slice(bare.lastIndexOf('/') + 1);
}

/** Returns the parent folder. The parent of the root is the root. */
export function parentOf(path: FilePath | FolderPath): FolderPath {
  return path.slice(0, withoutSlash(path).lastIndexOf('/') + 1) as FolderPath;
}

/** Returns the folders of a path, itself included if it is a folder, the deepest first and without the root. */
export function foldersOf(path: FilePath | FolderPath): readonly FolderPath[] {
  const folders: FolderPath[] = [];
  for (let folder = isFolder(path) ? path : parentOf(path); folder !== ROOT; folder = parentOf(folder)) {
    folders.push(folder);
  }
  return folders;
}

/** Percent-encodes each segment of a path for a URL, but not the slashes. */
export function encodePath(path: string): string {
  if (UNRESERVED.test(path)) return path;
  return path.includes('/') ? path.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(path);
}

/** Paths that need no encoding: unreserved characters (RFC 3986, section 2.3) and slashes. */
const UNRESERVED = /^[\w.~/-]*$/;

/** Returns the path without a trailing `/`, for error messages and file systems. */
export function withoutSlash(path: FilePath | FolderPath): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Returns the folder whose name `path` has, be it a file or a folder. */
export function folderNamed(path: FilePath | FolderPath): FolderPath {
  return (isFolder(path) ? path : `${path}/`) as FolderPath;
}

/** Returns whether a path is a folder path: the root, or a path that ends with `/`. */
export function isFolder(path: FilePath | FolderPath): path is FolderPath {
  return path === '' || path.endsWith('/');
}

/** Returns whether `path` is `folder` or lies below it. Compares whole segments: `ab/` is not within `a/`. */
export function isWithin(path: FilePath | FolderPath, folder: FolderPath): boolean {
  return path.startsWith(folder);
}

/** Returns `path` with its prefix `from` replaced by `to`. Throws `path-too-long` if the result has over `maxBytes`. */
export function rebase<Path extends FilePath | FolderPath>(
  path: Path,
  from: FolderPath,
  to: FolderPath,
  maxBytes: number,
): Path {
  const moved = (to + path.slice(from.length)) as Path;
  requireLength(moved, maxBytes);
  return moved;
}

/** Throws `path-too-long` if a path has over `maxBytes`. */
export function requireLength(path: FilePath | FolderPath, maxBytes: number): void {
  if (isTooLong(path, maxBytes)) throw new PathTooLong(path, { maxBytes });
}

/**
 * Compares paths by their UTF-8 bytes, folders with their trailing `/`. This is the order of listings. UTF-8 keeps
 * the order of code points. UTF-16, and so `<`, does not: it sorts surrogates before U+E000–U+FFFF.
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
  const problem = name.includes('/') ? 'contains a "/". Send a single name' : segmentProblem(name);
  if (problem) throw new StoreError('invalid-path', `The name ${quoted(name)} ${problem}.`);
}

/** Returns whether a text is a valid segment of a path. */
export const isName = (text: string): boolean => !text.includes('/') && segmentProblem(text) === undefined;

function segmentProblem(segment: string): string | undefined {
  if (segment === '') return 'has an empty segment';
  if (segment === '.' || segment === '..') return `has the segment "${segment}"`;
  if (CONTROL.test(segment)) return 'contains a control character';
  if (!segment.isWellFormed()) return "contains half of a surrogate pair, which UTF-8 can't encode";
  return undefined;
}

function checkLength(path: string, text: string): void {
  if (isTooLong(path, MAX_PATH_BYTES)) throw new PathTooLong(path, { text, maxBytes: MAX_PATH_BYTES });
}

/** Returns whether a path has over `maxBytes` in UTF-8. */
export function isTooLong(path: string, maxBytes: number): boolean {
  // A UTF-16 code unit takes at most three bytes in UTF-8, so most paths need no byte count.
  return path.length * 3 > maxBytes && Buffer.byteLength(path) > maxBytes;
}

/** The error for a path that has, or would have, too many bytes. */
export class PathTooLong extends StoreError {
  readonly path: string;

  /** `text` is what the message names. */
  constructor(path: string, { text = path, maxBytes }: { readonly text?: string; readonly maxBytes: number }) {
    const message = `The path ${quoted(text)} has ${Buffer.byteLength(path)} bytes. The maximum is ${maxBytes}.`;
    super('path-too-long', message);
    this.path = path;
  }
}

function isNameable(path: string, name: string, maxBytes: number): boolean {
  return problemOf(name) === undefined && !isTooLong(path, maxBytes);
}

function invalid(text: string, problem: string): StoreError {
  return new StoreError('invalid-path', `The path ${quoted(text)} ${problem}.`);
}
