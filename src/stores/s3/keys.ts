import type { FolderPath } from '../../model/path.ts';
import { escapeText } from './signature.ts';

/**
 * The key of an object: the path of a file, or the path of a folder for a folder marker. Objects of other programs can
 * have any key.
 */
export type Key = string;

/** Returns whether an object is a folder marker, which keeps an empty folder in existence. */
export function isEmptyMarker({ key, size }: { key: Key; size: number }): boolean {
  return key.endsWith('/') && size === 0;
}

/**
 * Decodes a key of a listing with `EncodingType=url`. Returns undefined if it is not UTF-8, because no request can
 * contain such a key. AWS encodes a space as `+` and a plus as `%2B`; other stores percent-encode both.
 */
export function decodeKey(encoded: string): Key | undefined {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** Percent-encodes each segment of a path, but not the slashes. */
export function escapePath(path: Key): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** Percent-encodes each byte of a key once, except unreserved characters and slashes. */
export function escapeKey(key: Key): string {
  return NEEDS_NO_ESCAPE.test(key) ? key : escapeText(key).replaceAll('%2F', '/');
}

const NEEDS_NO_ESCAPE = /^[\w.~/-]*$/;

/** Returns whether XML preserves the key, as the body of DeleteObjects requires (XML 1.0, sections 2.2 and 2.11). */
export function fitsXml(key: Key): boolean {
  return !/[\u0000-\u001f\u007f-\u009f\ufffe\uffff]|\p{Surrogate}/u.test(key);
}

/** Returns the ancestors of a folder without the root, then the folder itself. */
export function lineageOf(folder: FolderPath): FolderPath[] {
  const segments = folder.split('/').slice(0, -1);
  return segments.map((_, index) => `${segments.slice(0, index + 1).join('/')}/` as FolderPath);
}

/** Returns the value of an ETag header without quotes, or an empty string if it is undefined. */
export function unquote(etag: string | undefined): string {
  if (etag === undefined) return '';
  return etag.length > 1 && etag.startsWith('"') && etag.endsWith('"') ? etag.slice(1, -1) : etag;
}

export const quote = (etag: string): string => `"${etag}"`;
