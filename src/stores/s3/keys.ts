import { type FolderPath, MAX_KEY_BYTES } from '../../model/path.ts';

/**
 * The key of an object below the prefix of the bucket: the path of a file, or the path of a folder for a folder marker.
 * Objects of other programs can have any key. Only the requests to the store contain full keys.
 */
export type Key = string;

/** The part of the bucket that Holdall serves: the start of all full keys. Empty, or with a trailing `/`. */
export interface KeyPrefix {
  readonly prefix: string;
}

/** Returns the maximum length of a path in the bucket. */
export const maxPathBytesOf = ({ prefix }: KeyPrefix): number => MAX_KEY_BYTES - Buffer.byteLength(prefix);

/** Returns the full key of an object, as requests to the store contain it. */
export const toFullKey = ({ prefix }: KeyPrefix, key: Key): string => prefix + key;

/** Returns the key below the prefix; undefined for an object outside it. */
export const fromFullKey = ({ prefix }: KeyPrefix, fullKey: string): Key | undefined =>
  fullKey.startsWith(prefix) ? fullKey.slice(prefix.length) : undefined;

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

/** Percent-encodes each byte of a key once, except unreserved characters and slashes. */
export function encodeKey(key: Key): string {
  return IS_UNRESERVED.test(key) ? key : percentEncode(key).replaceAll('%2F', '/');
}

const IS_UNRESERVED = /^[\w.~/-]*$/;

/**
 * Percent-encodes all characters except the unreserved ones (RFC 3986, section 2.3). `encodeURIComponent` also leaves
 * `!'()*` unencoded.
 */
export function percentEncode(text: string): string {
  const encoded = encodeURIComponent(text);
  return RESERVED.test(encoded) ? encoded.replaceAll(ALL_RESERVED, encodeCharacter) : encoded;
}

const RESERVED = /[!'()*]/;
const ALL_RESERVED = /[!'()*]/g;
const encodeCharacter = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/** Returns whether XML preserves the key, as the body of DeleteObjects requires (XML 1.0, sections 2.2 and 2.11). */
export function canBeInXml(key: Key): boolean {
  return !/[\u0000-\u001f\u007f-\u009f\ufffe\uffff]|\p{Surrogate}/u.test(key);
}

/** Returns the ancestors of a folder without the root, and the folder itself at the end. */
export function ancestorsOf(folder: FolderPath): FolderPath[] {
  const segments = folder.split('/').slice(0, -1);
  return segments.map((_, index) => `${segments.slice(0, index + 1).join('/')}/` as FolderPath);
}

/** Returns the value of an ETag header without quotes, or an empty string if it is undefined. */
export function unquote(etag: string | undefined): string {
  if (etag === undefined) return '';
  return etag.length > 1 && etag.startsWith('"') && etag.endsWith('"') ? etag.slice(1, -1) : etag;
}

/** Returns an ETag as the value of a header. */
export const quote = (etag: string): string => `"${etag}"`;
