import type { FolderPath } from '../../model/path.ts';
import { escapeText } from './signature.ts';

/** The name of an object: its path, or a folder's path for the marker of a folder. Any text, where others wrote it. */
export type Key = string;

/** Whether an object is the marker of a folder: it makes the folder be there though nothing is in it. */
export function isEmptyMarker({ key, size }: { key: Key; size: number }): boolean {
  return key.endsWith('/') && size === 0;
}

/**
 * A key as it stands in a listing of `EncodingType=url`; undefined where it is not UTF-8, so that no request can
 * name it. AWS writes a space as `+` and a plus as `%2B`; others write both as escapes.
 */
export function decodeKey(encoded: string): Key | undefined {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** A path as a part of a URL: every segment escaped, the slashes kept. */
export function escapePath(path: Key): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** A key as the path of a URL: every byte escaped once that is not unreserved, the slashes kept. */
export function escapeKey(key: Key): string {
  return NEEDS_NO_ESCAPE.test(key) ? key : escapeText(key).replaceAll('%2F', '/');
}

const NEEDS_NO_ESCAPE = /^[\w.~/-]*$/;

/** Whether XML gives the key back as it was, as the body of DeleteObjects has to: XML 1.0, sections 2.2 and 2.11. */
export function fitsXml(key: Key): boolean {
  return !/[\u0000-\u001f\u007f-\u009f\ufffe\uffff]|\p{Surrogate}/u.test(key);
}

/** The folders that a folder is in, itself the last, without the root. */
export function lineageOf(folder: FolderPath): FolderPath[] {
  const segments = folder.split('/').slice(0, -1);
  return segments.map((_, index) => `${segments.slice(0, index + 1).join('/')}/` as FolderPath);
}

/** An ETag header's value without its quotes. */
export function unquote(etag: string | undefined): string {
  if (etag === undefined) return '';
  return etag.length > 1 && etag.startsWith('"') && etag.endsWith('"') ? etag.slice(1, -1) : etag;
}

export const quote = (etag: string): string => `"${etag}"`;
